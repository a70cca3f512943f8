"""The output space of trees: the labels of arcs, and the sentences and heads that Docs set."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc

from ...structures.tree.limits import Limits
from ...structures.tree.parts import UNKNOWN
from ..protocol import OutputSpace


class TreeGold(NamedTuple):
    """The gold annotation of the T tokens of a predicted Doc.

    Attributes:
        sentences: int64 [S + 1], first token of each sentence, or of each part of a long one.
        heads: int32 [T], a token's head as its place in the sentence from 1, 0 for the root, UNKNOWN where unknown.
        labels: None where unknown.
        flaws: flaw → its tokens, int64, ascending; see `pipeline.gold_trees`.
    """

    sentences: np.ndarray
    heads: np.ndarray
    labels: Sequence[str | None]
    flaws: Mapping[str, np.ndarray]

    @property
    def is_annotated(self) -> bool:
        """Whether any head is known."""
        return bool((self.heads != UNKNOWN).any())


class TreeSpace(OutputSpace, Protocol):
    """Labels of arcs, and the sentences and limits of trees in Docs. All arcs from the root, and no others, have the
    label 0.

    Attributes:
        unnamed: the label of arcs where only the label of roots has been learnt.
        multi_root: whether a sentence may have several roots.
    """

    @property
    def unnamed(self) -> str: ...

    @property
    def multi_root(self) -> bool: ...

    def sentences(self, docs: Sequence[Doc], starts: np.ndarray, sent_start: np.ndarray) -> np.ndarray:
        """The first tokens of the stretches of Docs that are parsed as one, and the number of tokens, int64 [S + 1].

        Args:
            starts: int64 [n + 1], of the Docs.
            sent_start: uint64 [T], spaCy's attribute SENT_START of their tokens.
        """

    def limits(self, docs: Sequence[Doc], starts: np.ndarray) -> Limits | None:
        """The constraints on the trees of these Docs, from existing annotation and from patterns; None for none.

        Args:
            starts: int64 [S + 1], from `sentences`.

        Raises:
            Contradiction: a token is limited to a head in another sentence.
        """
