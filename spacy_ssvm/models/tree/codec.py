"""A component with a tree over each sentence, as the model sees it: what its codec says besides gold and writing."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..protocol import Codec
from ..scored import Listing, NamedPart

if TYPE_CHECKING:
    from ...structures.tree.limits import Limits
    from .factors import ArcNames


class TreeGold(NamedTuple):
    """The gold annotation of the T tokens of a predicted Doc.

    sentences: int64 [S + 1], first token of each sentence. heads: int32 [T], a token's head as its place in the
    sentence from 1, 0 for the root, UNKNOWN where unknown. labels: None where unknown.
    n_cyclic: sentences without their annotation, as its heads form a cycle. n_crossing: heads that are left out, as
    they are in another sentence. n_cut: heads that are left out, as the sentence is cut between them and their token.
    """

    sentences: np.ndarray
    heads: np.ndarray
    labels: Sequence[str | None]
    n_cyclic: int
    n_crossing: int
    n_cut: int


@dataclass(frozen=True)
class TreeCodec(Codec):
    """A codec for dependency trees; the weight label 0 is that of all arcs from the root, and of no others.

    multi_root: whether a sentence may have several roots.
    """

    structure = "ssvm_tree"
    architecture = "spacy-ssvm.Tree.v1"
    unnamed: ClassVar[str]
    """The label of arcs where no label but that of roots has been learnt."""

    multi_root: bool = False

    @abstractmethod
    def sentences(self, doc: Doc) -> np.ndarray:
        """The first tokens of a Doc's sentences, and its length, int64 [S + 1]."""

    @abstractmethod
    def limits(self, docs: Sequence[Doc], starts: np.ndarray) -> "Limits | None":
        """What the trees of these Docs are limited to, by annotation that stays and by patterns; None for nothing.

        starts: int64 [n + 1], of all their sentences.

        Raises:
            Contradiction: a token is limited to a head in another sentence.
        """

    def names(self) -> "ArcNames":
        from .factors import ArcNames

        return ArcNames(self.weight_labels, self.unnamed)

    def item(self, part: NamedPart) -> tuple[int | None, int, str]:
        return part.head, part.start, part.label

    def listing(self) -> Listing:
        from ...structures.tree.scored import heads_above

        return heads_above
