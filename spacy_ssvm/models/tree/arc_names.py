"""Arcs of sentences in spaCy's terms: tokens of the Doc, a root as its own head, labels by name."""

from collections.abc import Sequence
from typing import NamedTuple

from ...structures.tree.scored import ANY, NO_LABEL, Arc, LabelledTree
from ..scored import NamedPart


class ArcNames(NamedTuple):
    """Implements `models.scored.PartNames`.

    labels: of the weights. unnamed: the label of arcs where no label but the root's has been learnt.
    """

    labels: Sequence[str]
    unnamed: str

    def named(self, part: Arc, first: int) -> NamedPart:
        """An arc of the sentence whose first token is `first`; head None or label "" where the part has any."""
        token = first + part.modifier - 1
        head = None if part.head == ANY else first + (part.head or part.modifier) - 1
        return NamedPart(token, token + 1, self._label(part.label), head, part)

    def parts(self, y: LabelledTree, first: int) -> list[NamedPart]:
        """The arcs of a tree, by token."""
        return [self.named(arc, first) for arc in y.arcs()]

    def _label(self, label: int) -> str:
        if label == ANY:
            return ""
        return self.unnamed if label == NO_LABEL else self.labels[label]
