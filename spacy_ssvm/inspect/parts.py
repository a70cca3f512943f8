"""The parts of a component's annotation, such as tags, entities, sentence starts, arcs, for users' questions."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from spacy.training import Example

from ..models.named_parts import NamedPart, PartNames
from ..structures.scored import Known

MISSING = "-"
"""The missing side of a mistake: an entity that was missed, or a predicted one that is not in the gold annotation."""


class Mistake(NamedTuple):
    """Tokens start … end − 1 of a predicted Doc, and their two annotations, by name; head: of a gold arc."""

    start: int
    end: int
    gold: str
    predicted: str
    head: int | None = None


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

    def mistakes(self, example: Example) -> list[Mistake]:
        """The differences of the predicted annotation from the gold one."""

    def missed(self, mistake: Mistake) -> Any:
        """The gold part of a mistake, as `from_query` takes it; None if there is none."""
