"""The parts of structures in spaCy's terms: tokens of a Doc, their labels and heads; and the features that fire."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..structures import NONE_OF_THESE, UNKNOWN
from ..structures.scored import Scored

MIN_PROBABILITY = 0.01
"""Default of the smallest probability that is listed."""

Y_contra = TypeVar("Y_contra", contravariant=True)


class ScoredSequence(NamedTuple):
    """A whole Doc, or one of its sentences, with its scores; first: its first token in the Doc."""

    first: int
    scored: Scored[Any, Any, Any]


class NamedPart(NamedTuple):
    """A part in spaCy's terms: tokens start … end − 1 of a Doc, their label, and for an arc its head.

    A root is its own head; head is None for parts that are not arcs. part: the part in terms of the structure, or None.
    """

    start: int
    end: int
    label: str
    head: int | None = None
    part: Any = None

    def phrase(self, words: Sequence[str]) -> str:
        """The part in words, such as "PER", or "nsubj of eats" for an arc; words: of the Doc."""
        return self.label if self.head in (None, self.start) else f"{self.label} of {words[self.head]}"


class PartNames(Protocol):
    """The names that a component gives to the parts of structures; supplied by the component's codec."""

    def named(self, part: Any, first: int) -> NamedPart:
        """A part of a sequence whose first token in the Doc is `first`."""

    def parts(self, y: Any, first: int) -> list[NamedPart]:
        """The parts that y consists of, in the order of their first tokens."""

    def part(self, named: NamedPart, first: int) -> Any:
        """The part that has this name in the sequence whose first token in the Doc is `first`; the inverse of `named`.

        Raises:
            ValueError: the component does not have the label.
        """


class FactorFeatures(Protocol[Y_contra]):
    """The features of one sequence, by the factors in which they fire."""

    def features(self, factor: Any) -> list[tuple[str, float]]:
        """The name of each feature that fires in a factor, and its contribution to the score."""

    def text(self, y: Y_contra, factor: Any) -> str:
        """The part of y at the position of a factor, in words; the factor may be another structure's."""


def numbers_of(labels: Iterable[str | None], known: Sequence[str]) -> np.ndarray:
    """The numbers of gold labels among the known ones, int32; UNKNOWN for None, NONE_OF_THESE for any other label."""
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(known)}
    numbers[None] = UNKNOWN
    return np.array([numbers.get(label, NONE_OF_THESE) for label in labels], np.int32)
