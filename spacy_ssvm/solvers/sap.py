"""Sequential alternating proximal method, ν = 0, for the elastic-net SSVM (Balamurugan et al. 2012, algorithm 2)."""

import numpy as np

from ..kernels import kernel
from . import working_set
from .certificate import Certificate, slacks
from .dual import DualLearner
from .learner import Progress
from .parameters import Sap
from .planes import dot, find_plane
from .problem import Problem
from .working_set import NONE, add, drop_inactive, find, has_room, inner_product, plane_axpy, plane_dot, total_alpha

PAIR_STEPS = 10
"""Pair steps in one visit: more of them polish an example's α against a w that the next visits will move."""


@kernel
def _soft(s, rho1, rho2):
    """soft(s, ρ₁)/ρ₂: the w that the best β = clip(s, ±ρ₁) leaves."""
    if s > rho1:
        return (s - rho1) / rho2
    if s < -rho1:
        return (s + rho1) / rho2
    return 0.0


@kernel
def _shrink(s, weights, rho1, rho2):
    for k in range(len(s)):
        weights[k] = _soft(s[k], rho1, rho2)


@kernel
def _best_pair(example, weights, planes, gold_alpha):
    """Largest g, and smallest g with α > 0, in the working set and the gold plane (NONE: g = 0)."""
    high, low = NONE, NONE
    g_high, g_low = 0.0, np.inf
    if gold_alpha > 0.0:
        g_low = 0.0
    p = planes.head[example]
    while p != NONE:
        g = planes.loss[p] - plane_dot(weights, planes, p)
        if g > g_high:
            high, g_high = p, g
        if g < g_low and planes.alpha[p] > 0.0:
            low, g_low = p, g
        p = planes.next[p]
    return high, g_high, low, g_low


@kernel
def _squared_distance(planes, p, q):
    """‖ΔΦ_p − ΔΦ_q‖²; the gold plane (NONE) is zero."""
    if p == NONE:
        return planes.norm[q]
    if q == NONE:
        return planes.norm[p]
    return planes.norm[p] + planes.norm[q] - 2.0 * inner_product(planes, p, q)


@kernel
def _move(s, weights, step, rho2, planes, p):
    """s ← s + step ΔΦ_p and, β held, w ← w + step ΔΦ_p / ρ₂."""
    if p != NONE:
        plane_axpy(s, step, planes, p)
        plane_axpy(weights, step / rho2, planes, p)
        planes.alpha[p] = max(0.0, planes.alpha[p] + step)


@kernel
def _solve_alpha(example, s, weights, C, rho2, planes):
    """α-SUB of Balamurugan et al. 2012 (IV.13) by pair steps on the example's simplex Σ_y α_i(y) = C, gold included."""
    for _ in range(PAIR_STEPS):
        gold_alpha = C - total_alpha(planes, example)
        high, g_high, low, g_low = _best_pair(example, weights, planes, gold_alpha)
        if high == low or g_high - g_low <= 1e-9:
            return
        limit = gold_alpha if low == NONE else planes.alpha[low]
        distance = _squared_distance(planes, high, low)
        step = limit
        if distance > 0.0:
            step = min(limit, (g_high - g_low) * rho2 / distance)
        _move(s, weights, step, rho2, planes, high)
        _move(s, weights, -step, rho2, planes, low)


@kernel
def _solve_beta(example, s, weights, rho1, rho2, planes):
    """β = clip(s, ±ρ₁) where the example's planes have moved s; w follows."""
    p = planes.head[example]
    while p != NONE:
        for k in range(planes.begin[p], planes.begin[p] + planes.size[p]):
            index = planes.indices[k]
            weights[index] = _soft(s[index], rho1, rho2)
        p = planes.next[p]


@kernel
def _visit(oracle, data, examples, s, weights, C, rho1, rho2, planes, plane):
    """Algorithm 2, lines 6 to 15. Stops where the working set is full; returns visits, Σ ξ and Σ ξ²."""
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = loss - dot(weights, plane.indices, plane.values, size)
        if slack > 0.0 and find(planes, example, plane, size, loss) == NONE:
            if not has_room(planes, size):
                return visited, total, squares
            add(planes, example, plane, size, loss)
        _solve_alpha(example, s, weights, C, rho2, planes)
        _solve_beta(example, s, weights, rho1, rho2, planes)
        drop_inactive(planes, example)
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
    return len(examples), total, squares


class SapLearner(DualLearner):
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: pair steps on α, then β; s = Σ α ΔΦ, w = (s − β)/ρ₂ = soft(s, ρ₁)/ρ₂."""

    parameters: Sap

    def __init__(self, parameters: Sap, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.s = parameters.rho2 * self.w + parameters.rho1 * np.sign(self.w)

    def visit(self, examples: np.ndarray) -> None:
        p = self.parameters
        self._visit_all(_visit, examples, self.s, self.w, p.C, p.rho1, p.rho2)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.s = self.grown(self.s)

    def remove(self, examples: np.ndarray) -> None:
        working_set.remove_all(self.planes, examples, self.s)
        _shrink(self.s, self.w, self.parameters.rho1, self.parameters.rho2)

    def progress(self) -> Progress:
        regulariser, square = self._regulariser(self.w)
        dual = None if self.warm else self._dual(square)
        return Progress(self.loss, regulariser + self.parameters.C * self.loss, dual, working_set.count(self.planes))

    def certificate(self) -> Certificate | None:
        """At s summed anew from the planes, as rounding errors of many small steps add up; asking changes nothing."""
        if self.warm:
            return None
        s, w = np.zeros_like(self.s), np.zeros_like(self.w)
        working_set.weighted_sum(self.planes, s)
        _shrink(s, w, self.parameters.rho1, self.parameters.rho2)
        regulariser, square = self._regulariser(w)
        return Certificate(regulariser + self.parameters.C * slacks(self.problem, w).sum, self._dual(square))

    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        """The regulariser at w, and its squared part alone."""
        square = self.parameters.rho2 / 2 * float(w @ w)
        return self.parameters.rho1 * float(np.abs(w).sum()) + square, square

    def _dual(self, square: float) -> float:
        return float(working_set.dual_sums(self.planes)[0] - square)
