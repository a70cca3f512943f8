"""The codec of a component with a tree over each sentence."""

import operator
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...structures.scored import Listing
from ...structures.tree.limits import Limits
from ...structures.tree.scored import heads_above
from ..named_parts import NamedPart
from ..protocol import Codec, Mistake
from .factors import ArcNames


class TreeGold(NamedTuple):
    """The gold annotation of the T tokens of a predicted Doc.

    sentences: int64 [S + 1], first token of each sentence, or of each part of a long one. heads: int32 [T], a token's
    head as its place in the sentence from 1, 0 for the root, UNKNOWN where unknown. labels: None where unknown.
    flaws: tokens, int64, ascending, by what is wrong with them; see `pipeline.gold_trees`.
    """

    sentences: np.ndarray
    heads: np.ndarray
    labels: Sequence[str | None]
    flaws: Mapping[str, np.ndarray]


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
    def sentences(self, docs: Sequence[Doc], starts: np.ndarray, sent_start: np.ndarray) -> np.ndarray:
        """The first tokens of what is parsed together in Docs, and the number of tokens, int64 [S + 1].

        starts: int64 [n + 1], of the Docs. sent_start: uint64 [T], spaCy's attribute SENT_START of their tokens.
        """

    @abstractmethod
    def limits(self, docs: Sequence[Doc], starts: np.ndarray) -> Limits | None:
        """The constraints on the trees of these Docs, from existing annotation and from patterns; None for none.

        starts: int64 [S + 1], from `sentences`.

        Raises:
            Contradiction: a token is limited to a head in another sentence.
        """

    def names(self) -> ArcNames:
        return ArcNames(self.weight_labels, self.unnamed)

    def item(self, part: NamedPart) -> tuple[int | None, int, str]:
        return part.head, part.start, part.label

    def part_from_query(self, item: Any) -> NamedPart:
        head, token, label = item
        return NamedPart(token, token + 1, label, operator.index(head))

    query_form = "an arc: (head, token, label), where a root is its own head"

    def missed(self, mistake: Mistake) -> Any:
        return mistake.head, mistake.start, mistake.gold

    def listing(self) -> Listing:
        return heads_above
