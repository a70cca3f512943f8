"""The distribution over structures of one input, defined by scores: the protocol of all inspection of predictions."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np


class Structure(Protocol):
    """A structure y with its score; further attributes depend on the output space."""

    @property
    def score(self) -> float: ...


class Factor(Protocol):
    """A term of a structure's score: the label of a token, a transition, an arc, a pair of arcs, hashable and ordered.

    Attributes:
        token: the token, from 0 within the sequence, whose features it has.
        labels: the weight labels that tell its features from features of the same names in other factors; none where
            these are the same features.
    """

    @property
    def token(self) -> int: ...

    @property
    def labels(self) -> tuple[int, ...]: ...


Y = TypeVar("Y", bound=Structure)
P_contra = TypeVar("P_contra", contravariant=True)
K_contra = TypeVar("K_contra", contravariant=True)


class Known(Protocol[P_contra]):
    """A gold structure, parts of which may be unknown.

    Attributes:
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
    arc of a token. Implemented by `chain.scored.ChainScores` and `tree.scored.TreeScores`;
    calibration, n-best, confidences and explanations are written over this protocol.
    """

    def best(self, k: int) -> list[Y]:
        """The k best structures, best first, or all if there are fewer.

        Raises:
            ValueError: k is less than 1.
        """

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ_y exp(β · score(y)), over all y or over those that `agreeing` allows; −∞ if there are none.

        Args:
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
        """The margin of each part: the best score with it minus the best score without it.

        Raises:
            ValueError: every structure is ruled out.
        """

    def margins_of(self, best: Y, parts: Sequence[Any]) -> list[float]:
        """For parts of the best structure, its score minus the best score without the part; ∞ if there is none."""

    def best_without(self, best: Y, part: P_contra) -> Y | None:
        """The best structure without a given part of the best structure; None if there is none."""

    def best_with(self, part: P_contra) -> Y | None:
        """The best structure with a given part; None if there is none."""

    def factors(self, y: Y) -> Collection[Factor]:
        """The terms whose sum is the score of y, each once, in order."""


Listing = Callable[[Any, float], Iterable[tuple[Any, float]]]
"""A function (result of `marginals` or `margins`, minimum) → the parts with at least this probability or margin."""
