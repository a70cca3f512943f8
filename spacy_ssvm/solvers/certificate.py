"""Certificates: primal, dual and gap at one frozen w."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import kernel
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, call


class Certificate(NamedTuple):
    """Objective values summed over examples, without 1/n; gap = primal − dual ≥ 0 up to rounding."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Primal − dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap over the primal objective (0 where both vanish)."""
        return self.gap / abs(self.primal) if self.primal else 0.0


class Slacks(NamedTuple):
    """Σ_i ξ_i and Σ_i ξ_i² at one w, ξ_i = max_y g_i(y)."""

    sum: float
    squares: float


@kernel
def _slacks(oracle, data, examples, weights, plane):
    total, squares = 0.0, 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        total += slack
        squares += slack * slack
    return total, squares


def slacks(problem: Problem, weights: np.ndarray, examples: np.ndarray | None = None) -> Slacks:
    """Evaluate every oracle (or those of `examples`, int64) at w, float64 [d]: one pass."""
    chosen: Any = np.arange(problem.n_examples) if examples is None else examples
    return Slacks(*call(_slacks, problem, chosen, weights, plane_buffer(problem.largest_plane)))
