"""Two solvers with an L1 norm (Balamurugan et al. 2012).

The projected subgradient method keeps w in an L1 ball (equation II.7 and §V.1); the extragradient method (Korpelevich
1976) solves the L1-penalised SSVM (equation II.8).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..growth import extended
from ..kernels import kernel
from . import working_set
from .certificate import Slacks
from .dual import collect_planes
from .learner import NO_EXAMPLES, Learner, Progress
from .oracle_pass import assert_oracles_are_maximal
from .parameters import Parameters, require_flag, require_positive
from .planes import axpy, dot, find_plane, plane_buffer, shell_sort
from .problem import Problem, call
from .state import Field
from .working_set import NO_PLANE, PLANES, WorkingSet, plane_dot, read_plane, total_alpha, weighted_sum


@dataclass(frozen=True, kw_only=True)
class ProjectedSubgradient(Parameters):
    """Projected subgradient method on Σ ξ_i subject to ‖w‖₁ ≤ ε (Balamurugan et al. 2012, equation II.7 and §V.1).

    Attributes:
        epsilon: radius of the L1 ball (ε); smaller values make w sparser. Choose it by development score.
        eta0: step in the first epoch; it is η₀/√k in epoch k.
    """

    CHECKS = {"epsilon": require_positive, "eta0": require_positive}

    epsilon: float = 100.0
    eta0: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Extragradient(Parameters):
    """Extragradient method on ‖w‖₁ + C Σ ξ_i, a saddle point over working sets (Balamurugan et al. 2012 §II).

    Attributes:
        C: weight of the loss; smaller values make w sparser.
        check_oracle: before each epoch, assert that no stored plane is more violated than the one its oracle finds.
    """

    CHECKS = {"C": require_positive, "check_oracle": require_flag}

    C: float = 0.1
    check_oracle: bool = False


class SaddlePoint(NamedTuple):
    """A point z = (u, v, α) of the saddle problem, and what its gradient F(z) consists of.

    Attributes:
        u, v: float64 [d], at least 0.
        planes: working sets with α.
        w: float64 [d], u − v.
        s: float64 [d], Σ α ΔΦ.
        gains: float64 [P], g = Δ − wᵀΔΦ of each plane.
    """

    u: np.ndarray
    v: np.ndarray
    planes: WorkingSet
    w: np.ndarray
    s: np.ndarray
    gains: np.ndarray


class ProjectedSubgradientLearner(Learner, of=ProjectedSubgradient):
    """Σ ξ_i subject to ‖w‖₁ ≤ ε: w ← w + η ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y) + Δ(y_i, y); projected once per epoch.

    Within an epoch w leaves the ball, so the losses of its visits do not estimate the objective: no primal is reported.
    """

    parameters: ProjectedSubgradient
    STATE = (Field("epoch"),)
    epoch = 1

    def visit(self, examples: np.ndarray) -> None:
        eta = self.parameters.eta0 / self.epoch**0.5
        self.loss += call(_visit, self.problem, examples, self.w, eta, plane_buffer(self.problem.max_plane_entries))

    def end_epoch(self) -> None:
        self.w = project_onto_ball(self.w, self.parameters.epsilon)
        self.epoch += 1

    def prediction_weights(self) -> np.ndarray:
        return project_onto_ball(self.w, self.parameters.epsilon)


class ExtragradientLearner(Learner, of=Extragradient):
    """‖w‖₁ + C Σ ξ_i as min_{u, v ≥ 0} max_α Σ_j (u_j + v_j) + Σ α (Δ − (u − v)ᵀΔΦ), Σ_y α_i(y) = C with gold.

    w = u − v may have any sign; the saddle point as printed has w ≥ 0. At the end of an epoch u, v and α move together.
    Working sets only grow: when planes with α = 0 were dropped, w oscillated. The primal objective is at the w at which
    the epoch called the oracles.
    """

    parameters: Extragradient
    STATE = (PLANES, Field("squares"), Field("u"), Field("v"), Field("step"))

    def __init__(self, parameters: Extragradient, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self.squares = 0.0
        self.u, self.v = np.maximum(self.w, 0.0), np.maximum(-self.w, 0.0)
        self.step = 1.0
        self._primal: float | None = None
        """The primal at the w of the last finished epoch's oracle calls; not part of the state."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.squares, self._primal = 0.0, None
        if self.parameters.check_oracle:
            assert_oracles_are_maximal(self.problem, self.w, self.planes, self.n_threads)

    def visit(self, examples: np.ndarray) -> None:
        sums = Slacks(self.loss, self.squares)
        found = collect_planes(self.problem, self.w, self.planes, examples, sums, n_threads=self.n_threads)
        self.loss, self.squares = found

    def end_epoch(self) -> None:
        self._primal = self.progress().primal
        here = _point(self.u, self.v, self.planes, self.w)
        ahead_planes = self.planes._replace(alpha=self.planes.alpha.copy())
        ahead = _point(self.u.copy(), self.v.copy(), ahead_planes, self.w.copy())
        support = _support(self.u, self.v, self.planes)
        # The working sets have changed: longer steps may be possible.
        C, unit = self.parameters.C, self.problem.unit
        self.step = _approach_saddle(here, ahead, support, 2.0 * self.step, C, unit)

    def progress(self) -> Progress:
        primal = self._primal
        if primal is None:
            primal = float(np.abs(self.w).sum()) + self.parameters.C * self.loss
        return Progress(self.loss, primal, None, working_set.count(self.planes))

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        """Forget dropped examples: w is not a sum over dual variables, and the next epochs move it."""
        working_set.forget_all(self.planes, dropped)
        super().change(problem)
        self.u, self.v = extended(self.u, problem.dimension), extended(self.v, problem.dimension)
        self.planes = working_set.resized(self.planes, problem.n_examples)

    def state(self) -> dict[str, Any]:
        working_set.trim(self.planes)
        return super().state()


def _point(u: np.ndarray, v: np.ndarray, planes: WorkingSet, w: np.ndarray) -> SaddlePoint:
    return SaddlePoint(u, v, planes, w, np.zeros_like(w), np.zeros_like(planes.alpha))


def project_onto_ball(w: np.ndarray, radius: float) -> np.ndarray:
    """The point of the L1 ball that is nearest to w, float64 [d]; w itself if it lies in the ball.

    That is soft(w, θ) with the largest θ = (sum of the k largest magnitudes − radius)/k over all k (Duchi et al. 2008).
    """
    magnitudes = np.abs(w)
    if magnitudes.sum() <= radius * (1 + 1e-12):
        return w
    descending = np.sort(magnitudes[magnitudes > 0])[::-1]
    theta = ((np.cumsum(descending) - radius) / np.arange(1, len(descending) + 1)).max()
    return w - np.clip(w, -theta, theta)


@kernel
def _visit(oracle, data, examples, weights, eta, plane):
    total = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        total += max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        axpy(weights, eta, plane.indices, plane.values, size)
    return total


STEPS = 100
"""Extragradient steps between two oracle passes, at most."""

AT_SADDLE = 1e-20
"""A squared distance ‖z − z̄‖² below which z is a saddle point up to rounding. w is in units of the loss."""

CONTRACTION = 0.9
"""Upper bound of step length times local Lipschitz constant of the gradient; below 1 the method converges."""


@kernel
def _support(u, v, planes):
    """The coordinates that occur in planes or are not zero, int64, ascending; all others never change."""
    occurs = (u > 0.0) | (v > 0.0)
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NO_PLANE:
            for index in read_plane(planes, p)[0]:
                occurs[index] = True
            p = planes.next[p]
    return np.flatnonzero(occurs)


@kernel
def _evaluate(point, support):
    """Set w, s and all g of the point from its u, v and α."""
    for j in support:
        point.w[j] = point.u[j] - point.v[j]
        point.s[j] = 0.0
    weighted_sum(point.planes, point.s)
    for example in range(len(point.planes.head)):
        p = point.planes.head[example]
        while p != NO_PLANE:
            point.gains[p] = point.planes.loss[p] - plane_dot(point.w, point.planes, p)
            p = point.planes.next[p]


@kernel
def _onto_simplex(example, origin, slope, step, C, target, sorted_):
    """Project α_i + step · g_i on the simplex Σ_y α_i(y) = C, α ≥ 0, gold (g = 0) included.

    Args:
        sorted_: float64, scratch for the entries in ascending order.
    """
    sorted_[0] = C - total_alpha(origin.planes, example)
    size = 1
    p = origin.planes.head[example]
    while p != NO_PLANE:
        sorted_[size] = origin.planes.alpha[p] + step * slope.gains[p]
        size += 1
        p = origin.planes.next[p]
    shell_sort(sorted_[:size])
    total, theta = -C, -np.inf
    for k in range(size):
        total += sorted_[size - 1 - k]
        theta = max(theta, total / (k + 1))
    p = origin.planes.head[example]
    while p != NO_PLANE:
        target.planes.alpha[p] = max(0.0, origin.planes.alpha[p] + step * slope.gains[p] - theta)
        p = origin.planes.next[p]


@kernel
def _move(origin, slope, step, C, unit, support, target, sorted_):
    """target ← projection of (origin − step · F(slope)); F is 1 − s for u, 1 + s for v, and −g for α.

    u, v and g are measured in units of the loss, so that w and α have magnitudes that suit one step length.
    """
    for j in support:
        target.u[j] = max(0.0, origin.u[j] - step * unit * (1.0 - slope.s[j]))
        target.v[j] = max(0.0, origin.v[j] - step * unit * (1.0 + slope.s[j]))
    for example in range(len(origin.planes.head)):
        _onto_simplex(example, origin, slope, step / unit, C, target, sorted_)


@kernel
def _distances(here, ahead, unit, support):
    """‖z − z̄‖² and ‖F(z) − F(z̄)‖², as in `_move`, without gold's α, whose gradient is constant."""
    distance, gradient_distance = 0.0, 0.0
    for j in support:
        distance += ((here.u[j] - ahead.u[j]) ** 2 + (here.v[j] - ahead.v[j]) ** 2) / (unit * unit)
        gradient_distance += 2.0 * (here.s[j] - ahead.s[j]) ** 2
    for example in range(len(here.planes.head)):
        p = here.planes.head[example]
        while p != NO_PLANE:
            distance += (here.planes.alpha[p] - ahead.planes.alpha[p]) ** 2
            gradient_distance += (here.gains[p] - ahead.gains[p]) ** 2 / (unit * unit)
            p = here.planes.next[p]
    return distance, gradient_distance


@kernel
def _approach_saddle(here, ahead, support, step, C, unit):
    """Take STEPS extragradient steps: from `here` along the gradient at the trial point `ahead`. Returns their length.

    The length is halved until it is below CONTRACTION over the Lipschitz constant between `here` and `ahead`.
    """
    sorted_ = np.zeros(len(here.gains) + 1)
    for _ in range(STEPS):
        _evaluate(here, support)
        while True:
            _move(here, here, step, C, unit, support, ahead, sorted_)
            _evaluate(ahead, support)
            distance, gradient_distance = _distances(here, ahead, unit, support)
            if distance <= AT_SADDLE or step * step * gradient_distance <= CONTRACTION * CONTRACTION * distance:
                break
            step /= 2.0
        if distance <= AT_SADDLE:
            break
        _move(here, ahead, step, C, unit, support, here, sorted_)
    for j in support:
        here.w[j] = here.u[j] - here.v[j]
    return step
