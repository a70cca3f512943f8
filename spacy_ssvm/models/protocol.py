"""What a model offers to training, prediction and inspection, whatever its structure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from ..solvers.problem import Problem


class DataSet(ABC):
    """The Docs that are learnt from, as examples of a solver; a Doc can hold several of them.

    What a component encodes has three methods besides what its data set reads: `take(docs)`, only these Docs of it;
    `digests()`, 16 bytes for each Doc that are equal for equal input and annotation; and, of a batch without Docs,
    `reserved(sizes)`, Docs of so many examples without tokens, whose places others can take.
    """

    impossible: str
    """An example of what the structure does not allow, for a warning."""

    @abstractmethod
    def add(self, encoded: Any) -> np.ndarray:
        """Append Docs; returns which of them, int64, had to be projected onto what the structure allows."""

    @abstractmethod
    def replace_by_last(self, docs: list[int]) -> None:
        """Let the last Docs, those added last, take the places of these; both in the same order."""

    @abstractmethod
    def problem(self) -> "Problem":
        """All examples; the same object until something is added or replaced."""

    @abstractmethod
    def dimension(self) -> int:
        """Present length of the weight vector."""

    @abstractmethod
    def examples_of(self, docs: np.ndarray) -> np.ndarray:
        """The examples, int64, that these Docs, int64, consist of."""

    @abstractmethod
    def is_incomplete(self) -> bool:
        """Whether anything is unknown of any gold structure."""

    @abstractmethod
    def complete(self, docs: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Set what is unknown of the gold structures of these Docs, int64, or of all, to what these weights predict.

        Returns the examples that have changed, int64: what was learnt from their old completion is void.
        """

    @abstractmethod
    def index(self) -> np.ndarray:
        """What decides which weight a feature has, besides the features' own description; a component gives it back."""

    @abstractmethod
    def sizes(self) -> np.ndarray:
        """How many examples each Doc has, int64 [n]."""

    @abstractmethod
    def gold(self, doc: int) -> np.ndarray:
        """The gold structures of a Doc as they are completed by now, int32."""

    @abstractmethod
    def set_gold(self, doc: int, gold: np.ndarray) -> None:
        """Go back to what `gold` has returned for the same Doc.

        Raises:
            ValueError: that is no gold structure of this Doc.
        """

    @abstractmethod
    def emptied(self) -> "DataSet":
        """A data set without Docs that goes on with the same features."""


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
    """What is known of a gold structure.

    is_annotated: whether anything is known.
    """

    @property
    def is_annotated(self) -> bool: ...

    def agrees(self, part: P_contra) -> bool | None:
        """Whether the gold structure has the part; None where what is known does not tell."""


class Marginals(Protocol[P_contra]):
    """The probabilities of parts under P(y) ∝ exp(β · score(y))."""

    def probability(self, part: P_contra) -> float:
        """The probability of all structures that have the part."""

    def has_alternative(self, part: P_contra) -> bool:
        """Whether any structure without the part is possible."""


class Scored(Protocol[Y, P_contra, K_contra]):
    """One input's distribution over structures y of an output space, over scores alone: P(y) ∝ exp(β · score(y)).

    A part is what a structure is taken apart into: labels of neighbouring tokens (a tag, an entity, a sentence start)
    or the arc of a token. Implemented by `structures.chain.scored.ChainScores` and `structures.tree.scored.TreeScores`;
    calibration, n-best, confidences and explanations are written over this protocol.
    """

    def best(self, k: int) -> list[Y]:
        """The k best structures, best first; fewer where there are no more.

        Raises:
            ValueError: k is less than 1.
        """

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ_y exp(β · score(y)), over all y or over those that `agreeing` allows; −∞ where there is none.

        beta: positive and finite.

        Raises:
            ValueError: the structure has no exact sums.
        """

    def agreeing(self, known: K_contra) -> np.ndarray:
        """The mask, bool, with which `log_partition` sums over the structures that agree with what is known."""

    def marginals(self, beta: float) -> Marginals[Any]:
        """The probability of each part.

        Raises:
            ValueError: the structure has no exact sums, or every structure is ruled out.
        """

    def margins(self) -> Any:
        """The margin of each part: the score of the best structure with it less that of the best one without it.

        Raises:
            ValueError: every structure is ruled out.
        """

    def best_without(self, best: Y, part: P_contra) -> Y | None:
        """The best structure that does not have a part of the best one; None where there is none."""

    def factors(self, y: Y) -> Collection[Factor]:
        """The terms whose sum is the score of y, each once, in order."""


class ScoredSequence(NamedTuple):
    """A whole Doc, or one of its sentences, with its scores; first: its first token in the Doc."""

    first: int
    scored: Scored[Any, Any, Any]


class NamedPart(NamedTuple):
    """A part in spaCy's terms: tokens start … end − 1 of a Doc, their label, and for an arc its head.

    A root is its own head; head is None for all that is no arc. part: the same in terms of the structure, or None.
    """

    start: int
    end: int
    label: str
    head: int | None = None
    part: Any = None

    def phrase(self, words: Sequence[str]) -> str:
        """What a text says of it, such as "PER", or "nsubj of eats" for an arc; words: of the Doc."""
        return self.label if self.head in (None, self.start) else f"{self.label} of {words[self.head]}"


MIN_PROBABILITY = 0.01
"""The smallest probability that is listed, unless another one is asked for."""

Listing = Callable[[Any, float], Iterable[tuple[Any, float]]]
"""The parts whose probability or margin is at least so much, from what `marginals` or `margins` returns."""


class PartNames(Protocol):
    """What a component calls the parts of structures; supplied by the component's codec."""

    def named(self, part: Any, first: int) -> NamedPart:
        """A part of a sequence whose first token in the Doc is `first`."""

    def parts(self, y: Any, first: int) -> list[NamedPart]:
        """The parts that y consists of, in the order of their first tokens."""


class FactorFeatures(Protocol[Y_contra]):
    """The features of one sequence, by the factors in which they fire."""

    def features(self, factor: Any) -> list[tuple[str, float]]:
        """The name of each feature that fires in a factor, and what it adds to the score."""

    def text(self, y: Y_contra, factor: Any) -> str:
        """What y has in the place of a factor, which may be one of another structure."""
