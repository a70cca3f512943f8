"""The parts of a component's annotation, such as tags, entities, sentence starts, arcs, for users' questions."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from spacy.training import Example

from ..models.named_parts import NamedPart, PartNames
from ..structures.scored import Known

NOTHING = "nothing"
"""The name of the missing side of a pair of parts."""


class ComparedPart(NamedTuple):
    """A part of the gold annotation beside what is predicted there: tokens start … end − 1 of the predicted Doc.

    Attributes:
        gold, predicted: the names of both; None for an entity that was missed, or that gold does not have.
        head: of a gold arc, where a root is its own head.
        elsewhere: the tokens of the predicted entity, or the head of the predicted arc, where they are others: first,
            end.
    """

    start: int
    end: int
    gold: str | None
    predicted: str | None
    head: int | None = None
    elsewhere: tuple[int, int] | None = None

    @property
    def is_right(self) -> bool:
        return self.gold == self.predicted and self.elsewhere is None

    @property
    def gold_name(self) -> str:
        return NOTHING if self.gold is None else self.gold

    @property
    def predicted_name(self) -> str:
        """The name of the prediction, and that it is elsewhere, if that alone is wrong."""
        if self.gold != self.predicted or self.is_right:
            return NOTHING if self.predicted is None else self.predicted
        return f"{self.predicted}, other {'tokens' if self.head is None else 'head'}"


class AnnotationParts(PartNames, Protocol):
    """The parts of one kind of annotation: their names, the items for users, and their gold annotation.

    Attributes:
        query_form: the items that `from_query` takes, in words.
        impossible: an example of gold annotation that a structure may not allow, in words.
        smallest_doubtful_margin: parts with smaller margins do not change how unsure of a token the component is;
            beyond ±1, there is no doubt.
    """

    @property
    def query_form(self) -> str: ...

    @property
    def impossible(self) -> str: ...

    @property
    def smallest_doubtful_margin(self) -> float: ...

    def listing(self, values: Any, min_score: float) -> Iterable[tuple[Any, float]]:
        """The parts that are listed and that calibration measures, as `structures.scored.Listing`."""

    def item(self, part: NamedPart) -> Any:
        """A part in an analysis of the k best."""

    def from_query(self, item: Any) -> NamedPart:
        """The part that a user asks about; any error other than a ValueError means that `item` has another form."""

    def known(self, example: Example, bounds: Sequence[tuple[int, int]]) -> list[Known[Any]]:
        """The known gold annotation of sequences of a Doc, tokens first … end − 1 of each."""

    def compared(self, example: Example) -> list[ComparedPart]:
        """The parts of the gold and of the predicted annotation, each once and in order, where gold is known."""

    def missed(self, mistake: ComparedPart) -> Any:
        """The gold part of a mistake, as `from_query` takes it; None if there is none."""


def mistakes(parts: AnnotationParts, example: Example) -> list[ComparedPart]:
    """The differences of the predicted annotation from the gold one."""
    return [part for part in parts.compared(example) if not part.is_right]
