"""Sequential alternating proximal method, ν = 0, for the elastic-net SSVM (Balamurugan et al. 2012, algorithm 2)."""

from typing import Any

import numpy as np

from ..kernels import kernel
from . import working_set
from .certificate import CertifiedLearner
from .dual import DualLearner
from .oracle_pass import add_if_violated
from .pairs import best_pair, difference, difference_buffer, move_alpha
from .parameters import Sap
from .problem import Problem
from .state import Field
from .working_set import NONE, drop_inactive, total_alpha

PAIR_STEPS = 10
"""Pair steps in one visit: more of them polish an example's α against a w that the next visits will move."""

LINE_STEPS = 30
"""Newton steps along one pair; where rounding keeps them from an end, D has risen all the same."""


@kernel
def _soft(s, rho1, rho2):
    """soft(s, ρ₁)/ρ₂ = (s − β)/ρ₂ for the best β = clip(s, ±ρ₁)."""
    if s > rho1:
        return (s - rho1) / rho2
    if s < -rho1:
        return (s + rho1) / rho2
    return 0.0


@kernel
def shrink(s, weights, rho1, rho2):
    """weights ← soft(s, ρ₁)/ρ₂."""
    for k in range(len(s)):
        weights[k] = _soft(s[k], rho1, rho2)


@kernel
def _slope(s, step, rho1, rho2, direction, size, loss):
    """dD/dt and −d²D/dt² of the dual at s + t · direction, t = step, with the best β everywhere."""
    slope, curvature = loss, 0.0
    for k in range(size):
        value = direction.values[k]
        weight = _soft(s[direction.indices[k]] + step * value, rho1, rho2)
        slope -= value * weight
        if weight != 0.0:
            curvature += value * value / rho2
    return slope, curvature


@kernel
def _best_step(s, limit, rho1, rho2, direction, size, loss):
    """The t in [0, limit] that maximises D, by Newton's method in a bracket: D' falls and is piecewise linear."""
    if _slope(s, limit, rho1, rho2, direction, size, loss)[0] >= 0.0:
        return limit
    low, high, step = 0.0, limit, 0.0
    for _ in range(LINE_STEPS):
        slope, curvature = _slope(s, step, rho1, rho2, direction, size, loss)
        if abs(slope) <= 1e-12:
            return step
        if slope > 0.0:
            low = step
        else:
            high = step
        if curvature > 0.0:
            step += slope / curvature
        if curvature == 0.0 or step <= low or step >= high:
            step = (low + high) / 2.0
    return low


@kernel
def _solve(example, s, weights, C, rho1, rho2, planes, direction):
    """Pair steps on the example's simplex Σ_y α_i(y) = C, gold included, with β = clip(s, ±ρ₁) after each."""
    for _ in range(PAIR_STEPS):
        gold_alpha = C - total_alpha(planes, example)
        high, g_high, low, g_low = best_pair(example, weights, planes, gold_alpha)
        if high == low or g_high - g_low <= 1e-9:
            return
        limit = gold_alpha if low == NONE else planes.alpha[low]
        size, loss = difference(planes, high, low, direction)
        step = _best_step(s, limit, rho1, rho2, direction, size, loss)
        move_alpha(planes, high, low, step)
        for k in range(size):
            index = direction.indices[k]
            s[index] += step * direction.values[k]
            weights[index] = _soft(s[index], rho1, rho2)


@kernel
def _visit(oracle, data, examples, s, weights, C, rho1, rho2, direction, sums, planes, plane):
    """Algorithm 2, lines 6 to 15."""
    for example in examples:
        add_if_violated(oracle, data, example, weights, 0.0, 0.0, sums, planes, plane)
        _solve(example, s, weights, C, rho1, rho2, planes, direction)
        drop_inactive(planes, example)


class SapLearner(DualLearner, CertifiedLearner):
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: pair steps on α with the best β; s = Σ α ΔΦ, w = (s − β)/ρ₂ = soft(s, ρ₁)/ρ₂."""

    parameters: Sap
    STATE = (Field("s"),)

    def __init__(self, parameters: Sap, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.s = self._dual_point(self.w)

    def visit(self, examples: np.ndarray) -> None:
        p = self.parameters
        self._run(_visit, examples, self.s, self.w, p.C, p.rho1, p.rho2, difference_buffer(self.problem))

    def retune(self, parameters: Any) -> bool:
        """The dual variables are feasible whatever ρ₁ and ρ₂ are."""
        if not super().retune(parameters):
            return False
        self.s, self.w = self.w, self._summed()
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.s = self.grown(self.s)

    def remove(self, examples: np.ndarray) -> None:
        working_set.remove_all(self.planes, examples, self.s)
        shrink(self.s, self.w, self.parameters.rho1, self.parameters.rho2)

    def _dual_point(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self.parameters.rho2 * w + self.parameters.rho1 * np.sign(w))

    def _summed(self) -> np.ndarray:
        s, w = self._dual_sum(), np.zeros_like(self.w)
        shrink(s, w, self.parameters.rho1, self.parameters.rho2)
        return w

    def _penalty(self, w: np.ndarray) -> tuple[float, float]:
        """The dual objective has (ρ₂/2)‖w‖² = ‖s − β‖² / 2ρ₂ alone."""
        square = self.parameters.rho2 / 2 * float(w @ w)
        return self.parameters.rho1 * float(np.abs(w).sum()) + square, square
