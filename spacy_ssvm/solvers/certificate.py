"""Certificates: primal, dual and gap at one frozen w."""

import math
from typing import NamedTuple

import numpy as np

from .oracle_pass import find_all
from .problem import Problem


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


def slacks(problem: Problem, weights: np.ndarray, examples: np.ndarray | None = None) -> Slacks:
    """Evaluate every oracle (or those of `examples`, int64) at w, float64 [d]: one pass."""
    chosen = np.arange(problem.n_examples) if examples is None else examples
    positive = [max(0.0, g) for _, found in find_all(problem, weights, chosen) for g in found.slacks.tolist()]
    return Slacks(math.fsum(positive), math.fsum(slack * slack for slack in positive))
