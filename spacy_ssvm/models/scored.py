"""One input's distribution over structures, defined by scores: the protocol that all inspection of predictions uses."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..structures import NONE_OF_THESE, UNKNOWN

MIN_PROBABILITY = 0.01
"""Default of the smallest probability that is listed."""


class Structure(Protocol):
    """A structure y with its score; what else it has depends on the output space."""

    @property
    def score(self) -> float: ...


class Factor(Protocol):
    """A term of a structure's score: the label of a token, a transition, an arc, a pair of arcs, hashable and ordered.

    token: the token, from 0 within the sequence, whose features it has. labels: the weight labels that tell its
    features from features of the same names in other factors; none where these are the same features.
    """

    @property
    def token(self) -> int: ...

    @property
    def labels(self) -> tuple[int, ...]: ...


Y = TypeVar("Y", bound=Structure)
P_contra = TypeVar("P_contra", contravariant=True)
Y_contra = TypeVar("Y_contra", contravariant=True)
K_contra = TypeVar("K_contra", contravariant=True)


class Known(Protocol[P_contra]):
    """A gold structure of which parts may be unknown.

    is_annotated: whether any part is known.
    """

    @property
    def is_annotated(self) -> bool: ...

    def agrees(self, part: P_contra) -> bool | None:
        """Whether the gold structure has the part; None if the known parts do not decide it."""


class Marginals(Protocol[P_contra]):
    """The probabilities of parts under P(y) ∝ exp(β · score(y))."""

    def probability(self, part: P_contra) -> float:
        """The probability of all structures that have the part."""

    def has_alternative(self, part: P_contra) -> bool:
        """Whether any structure without the part is possible."""


class Scored(Protocol[Y, P_contra, K_contra]):
    """One input's distribution over structures y of an output space, over scores alone: P(y) ∝ exp(β · score(y)).

    A structure is decomposed into parts: the labels of neighbouring tokens (a tag, an entity, a sentence start) or the
    arc of a token. Implemented by `structures.chain.scored.ChainScores` and `structures.tree.scored.TreeScores`;
    calibration, n-best, confidences and explanations are written over this protocol.
    """

    def best(self, k: int) -> list[Y]:
        """The k best structures, best first; fewer if there are fewer.

        Raises:
            ValueError: k is less than 1.
        """

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ_y exp(β · score(y)), over all y or over those that `agreeing` allows; −∞ if there are none.

        beta: positive and finite.

        Raises:
            ValueError: the structure has no exact sums.
        """

    def agreeing(self, known: K_contra) -> np.ndarray:
        """The mask, bool, with which `log_partition` sums over the structures that agree with the known parts."""

    def marginals(self, beta: float) -> Marginals[Any]:
        """The probability of each part.

        Raises:
            ValueError: the structure has no exact sums, or every structure is ruled out.
        """

    def margins(self) -> Any:
        """The margin of each part: the score of the best structure with it minus that of the best structure without it.

        Raises:
            ValueError: every structure is ruled out.
        """

    def margins_of(self, best: Y, parts: Sequence[Any]) -> list[float]:
        """For parts of the best structure, its score minus that of the best structure without the part; ∞ if there is
        none."""

    def best_without(self, best: Y, part: P_contra) -> Y | None:
        """The best structure without a given part of the best structure; None if there is none."""

    def best_with(self, part: P_contra) -> Y | None:
        """The best structure with a given part; None if there is none."""

    def factors(self, y: Y) -> Collection[Factor]:
        """The terms whose sum is the score of y, each once, in order."""


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
        """The part in words, such as "PER", or "nsubj of eats" for an arc; words: those of the Doc."""
        return self.label if self.head in (None, self.start) else f"{self.label} of {words[self.head]}"


Listing = Callable[[Any, float], Iterable[tuple[Any, float]]]
"""A function (result of `marginals` or `margins`, minimum) → the parts with at least this probability or margin."""


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
        """The name of each feature that fires in a factor, and what it adds to the score."""

    def text(self, y: Y_contra, factor: Any) -> str:
        """The part of y at the position of a factor, in words; the factor may be that of another structure."""


def numbers_of(labels: Iterable[str | None], known: Sequence[str]) -> np.ndarray:
    """The numbers of gold labels among the known ones, int32; UNKNOWN for None, NONE_OF_THESE for any other label."""
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(known)}
    numbers[None] = UNKNOWN
    return np.array([numbers.get(label, NONE_OF_THESE) for label in labels], np.int32)
