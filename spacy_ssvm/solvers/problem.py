"""Structured learning problems: the examples of an oracle, and how kernels call it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ..growth import appended
from ..kernels import Float32Array, Float64Array, Int64Array, Signature, fingerprint, signature, specialise

Kind = Literal["max", "kbest", "cliques"]
"""The kinds of oracle that solvers call."""
_PLANE = tuple[int, float]
_SIGNATURES: dict[Kind, Callable[[type], list[Signature]]] = {
    "max": lambda data: [signature(_PLANE, data, int, Float64Array, float, Int64Array, Float64Array)],
    "kbest": lambda data: [
        signature(int, data, int, Float64Array, float, int, Int64Array, Float64Array, Int64Array, Float64Array)
    ],
    "cliques": lambda data: [
        signature(None, data, int, Float64Array, Float64Array, Float64Array, Float64Array),
        signature(float, data, int, Float64Array, Float64Array),
        signature(float, data, int, Float64Array, Float64Array),
    ],
}
_OFFERS = {"max": "the best structure", "kbest": "the k best structures, exactly", "cliques": "exact marginals"}

RULED_OUT = -1e20
"""Scores below this rule a clique out."""


class Cliques(NamedTuple):
    """The cliques of structures, whose scores and losses add up to those of a structure.

    A distribution P(y) ∝ exp(Σ of the scores of y's cliques) is given by an example's m scores. Its expectations are
    given by its m surpluses: how often a clique is expected to occur, less how often gold has it.

    Attributes:
        sizes: int64 [n], the number m of each example's cliques.
        score: (data, example, weights float64 [d], scores float64 [m], costs float64 [m], wrong float64 [m]) → None. It
            writes wᵀΦ; the part of Δ(y_i, y), which is 0 for gold's cliques; and 1 for cliques that gold does not have,
            even if they cost nothing, enough of them for gold to be the only structure without any, 0 for the others.
            Cliques that are ruled out score less than RULED_OUT.
        infer: (data, example, scores, surplus float64 [m]) → −log P(y_i). It writes the surpluses.
        move: (data, example, weights, steps float64 [m]) → rise of ½‖w‖². It adds Σ step · Φ to w.
    """

    sizes: np.ndarray
    score: Any
    infer: Any
    move: Any


class Rates(NamedTuple):
    """Relative learning rates of weights in corrections, in (0, 1]; 1 for all later weights.

    Attributes:
        single: float32 [S], of the first S weights.
        blocks: float32 [B], of the B blocks of size[0] weights that follow.
    """

    single: Float32Array
    blocks: Float32Array
    size: Int64Array


class Corrections(NamedTuple):
    """The facts of a problem that corrections of a loaded component need.

    Attributes:
        rates: learning rates of the weights; None where all are 1.
        initial: (first) → float [d − first], the weights from number `first` on before any correction; None if these
            are 0.
        have_new_labels: bool [n], the examples with a new label in gold; None if there are none.
        margin: the fraction of their loss by which other structures must score lower for an example to be right; above
            0 if the weights are rounded for prediction.
        goal: the fraction of their loss by which other structures score lower after a step.
    """

    rates: Rates | None = None
    initial: Callable[[int], np.ndarray] | None = None
    have_new_labels: np.ndarray | None = None
    margin: float = 0.0
    goal: float = 1.0


EQUAL_RATES = Corrections()
"""The default corrections of a problem: all rates are equal."""


class Extent(NamedTuple):
    """Bounds for n examples: the max size of the oracles' output, and the min cost of a mistake.

    Attributes:
        plane_entries: int64 [n], as in `Problem`.
        clique_sizes: int64 [n], as in `Cliques`; empty where marginals are not exact.
        min_cost: the smallest positive cost of a single mistake, ∞ if there is none.
    """

    plane_entries: np.ndarray
    clique_sizes: np.ndarray = np.zeros(0, np.int64)
    min_cost: float = 1.0

    @property
    def unit(self) -> float:
        """As in `Problem`."""
        return self.min_cost if self.min_cost < np.inf else 1.0

    def with_more(self, more: "Extent") -> "Extent":
        """The extent of these examples and more, which are appended: memory is shared."""
        return Extent(
            appended(self.plane_entries, more.plane_entries),
            appended(self.clique_sizes, more.clique_sizes),
            min(self.min_cost, more.min_cost),
        )


class Passes(ABC):
    """Passes over examples that lie elsewhere, as `Problem.data`: sums over all of them at one w, float64 [d]."""

    @abstractmethod
    def losses(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ_i L_{β,γ} and −Σ_i ∇L_{β,γ}, float64 [d], as `gradients.sum_losses`; with the solver's β and γ."""

    @abstractmethod
    def planes(self, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Σ Δ_i, Σ ξ_i and Σ ΔΦ_i over the violated planes that the max-oracles find."""

    @abstractmethod
    def slacks(self, weights: np.ndarray) -> tuple[float, float]:
        """Σ ξ_i and Σ ξ_i²."""


@dataclass(frozen=True)
class Problem:
    """A structured learning problem.

    Oracles are kernels that write (index, value) pairs; indices are below d and may repeat. They write to nothing else,
    so several threads may call them at once, unless they number weights by use.

    Attributes:
        data: NamedTuple that the oracles read, whose fields all have annotations that `kernels` knows, such as arrays;
            or `Passes`, if the examples lie elsewhere: then only solvers that ask for such sums can learn from them.
        max_oracle: (data, example, weights float64 [d], loss_scale, indices int64, values float64) → (entries, loss).
            It writes ΔΦ_i(ŷ) = Φ(x_i, y_i) − Φ(x_i, ŷ) for ŷ = argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), and
            returns Δ. Examples may be empty, such as a Doc without tokens: then it returns (0, 0.0).
        n_examples: n.
        dimension: d, below 2³¹.
        plane_entries: int64 [n], upper bounds of the numbers of pairs that the max-oracle writes.
        cliques: None where marginals are not exact.
        kbest_oracle: (data, example, weights, loss_scale, k, starts int64 [k + 1], losses float64 [k], indices, values)
            → count, or None where the k best are not exact. It writes the planes of the k structures of largest
            wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first; gold may be among them. Plane j is at starts[j] … starts[j
            + 1] − 1; count is the number of planes.
        exact: whether the max-oracle always finds the maximum; if not, no objective and no gap is reliable.
        corrections: for corrections of a loaded component.
        unit: the unit of the loss, the smallest positive cost of a single mistake. Solvers neglect only small fractions
            of it, in g or in the loss, so that a problem with scaled costs is solved as precisely.
        n_named: where oracles number weights by use, how many of the first weights they may have named in their pairs
            so far: all others have never changed. Such oracles write to `data`, and must be called in one thread. None
            where weights have fixed numbers.

    Raises:
        ValueError: d is 2³¹ or more.
    """

    data: Any
    max_oracle: Any
    n_examples: int
    dimension: int
    plane_entries: np.ndarray
    cliques: Cliques | None = None
    kbest_oracle: Any = None
    exact: bool = True
    corrections: Corrections = EQUAL_RATES
    unit: float = 1.0
    n_named: Callable[[], int] | None = None

    def __post_init__(self) -> None:
        if self.dimension >= 2**31:
            raise ValueError(
                f"{self.dimension:,} weights are more than this package can index (2³¹): use fewer or hashed features"
            )

    @cached_property
    def max_plane_entries(self) -> int:
        """The largest of `plane_entries`."""
        return int(self.plane_entries.max(initial=0))

    def named(self, vector: np.ndarray) -> np.ndarray:
        """The part of a vector, [d], that oracles may have named: to read the rest, zeros, would take time."""
        return vector if self.n_named is None else vector[: self.n_named()]

    def oracles(self, kind: Kind) -> list[Any]:
        """The kernel of one kind of oracle, or the kernels that read scores from cliques, infer and move w.

        Raises:
            ValueError: the structure does not offer it.
        """
        if isinstance(self.data, Passes):
            return []
        if kind == "cliques" and self.cliques is not None:
            return list(self.cliques[1:])
        kernel = {"max": self.max_oracle, "kbest": self.kbest_oracle}.get(kind)
        if kernel is None:
            raise ValueError(
                f"this solver needs {_OFFERS[kind]}, which the model's structure does not offer: choose another "
                "solver, or a model that offers it, such as a parser of order = 1"
            )
        return [kernel]


def min_cost(costs: np.ndarray) -> float:
    """The smallest positive one of these costs, float64, at least 0; ∞ where all are 0."""
    return float(costs.min(initial=np.inf, where=costs > 0))


def call(kernel: Any, problem: Problem, *arguments: Any, kind: Kind = "max") -> Any:
    """Call a solver kernel as kernel(*oracles, data, *arguments), compiled once per structure.

    Oracles are passed as first-class functions, so that the next process finds the kernel's compiled code on disk.

    Raises:
        ValueError: the structure does not offer such an oracle.
    """
    oracles = problem.oracles(kind)
    key = (kernel, *oracles, type(problem.data), fingerprint(arguments))
    compiled = _COMPILED.get(key)
    if compiled is None:
        compiled = _COMPILED[key] = _compile(kernel, oracles, type(problem.data), arguments, kind)
    dispatcher, its_oracles = compiled
    return dispatcher(*its_oracles, problem.data, *arguments)


_COMPILED: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}
"""(kernel, oracles, types of arguments) → the compiled function: looking it up in numba would take longer than a
call."""


def _compile(
    kernel: Any, oracles: list[Any], data: type, arguments: tuple[Any, ...], kind: Kind
) -> tuple[Any, list[Any]]:
    signatures = _SIGNATURES[kind](data)
    its_oracles = [specialise(oracle, *called_as.arguments) for oracle, called_as in zip(oracles, signatures)]
    return specialise(kernel, *signatures, data, arguments=arguments), its_oracles
