"""Structured learning problems: the examples of an oracle, and how kernels call it."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from ..kernels import Float64Array, Int64Array, array_type, numba_type, signature, specialise

Kind = Literal["max", "marginal", "kbest"]
"""The kinds of oracle that solvers call."""
_PLANE = tuple[int, float]
_SIGNATURES = {
    "max": lambda data: signature(_PLANE, data, int, Float64Array, float, Int64Array, Float64Array),
    "marginal": lambda data: signature(_PLANE, data, int, Float64Array, float, float, Int64Array, Float64Array),
    "kbest": lambda data: signature(
        int, data, int, Float64Array, float, int, Int64Array, Float64Array, Int64Array, Float64Array
    ),
}
_OFFERS = {"max": "the best structure", "marginal": "exact marginals", "kbest": "the k best structures, exactly"}


@dataclass(frozen=True)
class Problem:
    """A structured learning problem.

    Oracles are kernels that write (index, value) pairs; indices are below d and may repeat. They write to nothing else,
    so several threads may call them at once, unless the problem is for one thread.

    data: NamedTuple of arrays that the oracles read. data_type: its numba type.
    max_oracle: (data, example, weights float64 [d], loss_scale, indices int64, values float64) → (entries, loss). It
        writes ΔΦ_i(ŷ) = Φ(x_i, y_i) − Φ(x_i, ŷ) for ŷ = argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), and returns Δ.
        None where only marginals are learnt from.
    n_examples: n. dimension: d, below 2³¹. plane_entries: int64 [n], upper bounds of the numbers of pairs that the
        max-oracle writes.
    marginal_oracle: (data, example, weights, beta, gamma, indices, values) → (entries, loss), or None where marginals
        are not exact. It writes −∇L_{β,γ}(w) = Φ(x_i, y_i) − E[Φ(x_i, y)], y ~ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))), and
        returns L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))) (Martins et al. 2010, equation 4).
    max_gradient_entries: upper bound of the number of pairs the marginal oracle writes.
    exact: whether the max-oracle always finds the maximum; if not, no objective and no gap is reliable.
    kbest_oracle: (data, example, weights, loss_scale, k, starts int64 [k + 1], losses float64 [k], indices, values) →
        count, or None where the k best are not exact. It writes the planes of the k structures of largest
        wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first; gold may be among them. Plane j is at
        starts[j] … starts[j + 1] − 1; count is the number of planes.
    rates: float32 [≤ d], relative learning rates of the first weights in corrections; 1 for the others, or for all.
    with_margin: whether corrections learn from an example that is right, too, until it is so by a margin of its loss.
    one_thread: whether oracles write to `data`, so that they must be called in one thread.
    unit: the unit of the loss, the smallest positive cost of a single mistake. What solvers neglect, in g or in the
        loss, is a small fraction of it, so that a problem whose costs are scaled is solved just as precisely.

    Raises:
        ValueError: d is 2³¹ or more.
    """

    data: Any
    data_type: Any
    max_oracle: Any
    n_examples: int
    dimension: int
    plane_entries: np.ndarray
    marginal_oracle: Any = None
    max_gradient_entries: int = 0
    kbest_oracle: Any = None
    exact: bool = True
    rates: np.ndarray | None = None
    with_margin: bool = False
    one_thread: bool = False
    unit: float = 1.0

    def __post_init__(self) -> None:
        if self.dimension >= 2**31:
            raise ValueError(
                f"{self.dimension:,} weights are more than this package can index (2³¹): use fewer or hashed features"
            )

    @cached_property
    def max_plane_entries(self) -> int:
        """The largest of `plane_entries`."""
        return int(self.plane_entries.max(initial=0))

    def oracle(self, kind: Kind) -> Any:
        """The kernel of one kind.

        Raises:
            ValueError: the structure does not offer it.
        """
        kernel = {"max": self.max_oracle, "marginal": self.marginal_oracle, "kbest": self.kbest_oracle}[kind]
        if kernel is None:
            raise ValueError(
                f"this solver needs {_OFFERS[kind]}, which the model's structure does not offer: choose another "
                "solver, or a model with order = 1"
            )
        return kernel

    def max_entries(self, kind: Kind) -> int:
        """An upper bound of the number of pairs that this kind of oracle writes for one plane or gradient."""
        return self.max_gradient_entries if kind == "marginal" else self.max_plane_entries


def unit_of(costs: np.ndarray) -> float:
    """The unit of a loss that adds up these costs, float64, at least 0; 1 where all are 0."""
    positive = costs[costs > 0]
    return float(positive.min()) if len(positive) else 1.0


def call(dispatcher: Any, problem: Problem, *arguments: Any, kind: Kind = "max") -> Any:
    """Call a solver kernel as dispatcher(oracle, data, *arguments), compiled once per structure.

    The oracle is passed as a first-class function, so that the next process finds the kernel's compiled code on disk.

    Raises:
        ValueError: the structure does not offer such an oracle.
    """
    oracle, called_as = problem.oracle(kind), _signature(kind, problem.data_type)
    specialise(oracle, *called_as.args)
    specialise(
        dispatcher,
        numba_type(called_as),
        problem.data_type,
        *(array_type(argument) for argument in arguments),
    )
    return dispatcher(oracle, problem.data, *arguments)


@cache
def _signature(kind: Kind, data_type: Any) -> Any:
    """The numba signature of an oracle; problems of one structure share it."""
    return _SIGNATURES[kind](data_type)
