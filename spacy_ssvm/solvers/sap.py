"""Alternating proximal methods for the elastic-net SSVM (Balamurugan et al. 2012).

The sequential method (algorithm 2) visits one example at a time; the batch method (algorithm 1) visits all of them. The
proximal variants add costs ν and µ for moving β and α.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..growth import extended
from ..kernels import kernel
from .certificate import Slacks
from .dual import DualLearner, collect_planes
from .learner import NO_EXAMPLES, Learner, Progress
from .oracle_pass import add_if_violated
from .pairs import NEGLIGIBLE_RISE, PAIR_STEPS, best_pair, difference_buffer, move_alpha, pair_step, plane_difference
from .parameters import DualParameters, require_flag, require_not_negative, require_positive
from .penalty import Penalty, shrink, soft
from .planes import squared_norm
from .problem import Problem
from .state import Field, Sizes
from .working_set import NO_PLANE, drop_inactive, plane_dot, total_alpha


@dataclass(frozen=True, kw_only=True)
class Sap(DualParameters):
    """Sequential alternating proximal method on the elastic-net SSVM, ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i.

    Balamurugan et al. 2012, algorithm 2; with ν = µ = 0, β is always the best one, and α takes full steps.

    rho1: weight of ‖w‖₁; larger values make w sparser. rho2: weight of ½‖w‖², positive.
    nu: cost of moving β, the paper's ν, for dual variables that sum to 1; here they sum to C, and the cost is Cν.
    mu: cost of moving α, the paper's µ; for dual variables that sum to C it is µ/C.
    batch: use algorithm 1, which calls all oracles and moves all α before β moves once; the sequential algorithm (the
        default) converges sooner.
    """

    CHECKS = {
        "rho1": require_not_negative,
        "rho2": require_positive,
        "nu": require_not_negative,
        "mu": require_not_negative,
        "batch": require_flag,
    }

    rho1: float = 0.5
    rho2: float = 0.5
    nu: float = 0.0
    mu: float = 0.0
    batch: bool = False

    @property
    def learner(self) -> type[Learner]:  # type: ignore[override]
        """The variant that these parameters ask for."""
        if self.batch:
            return BatchSapLearner
        if self.nu or self.mu:
            return ProximalSapLearner
        return SapLearner

    @property
    def rule(self) -> str | None:  # type: ignore[override]
        """For the sequential algorithm without costs of moving."""
        return None if self.batch or self.nu or self.mu else "dual"

    @property
    def penalty(self) -> Penalty:
        return Penalty(self.rho1, self.rho2)


class Box(NamedTuple):
    """β ∈ [−ρ₁, ρ₁]^d, and the coordinates in which its update rule (equation IV.14) still changes it.

    The rule is monotone in β_j, so repeated application reaches a fixed point, even in rounded arithmetic. From then
    on, until s_j changes, coordinate j needs no update. So w = (s − β)/ρ₂ is kept up to date in all coordinates at a
    cost that depends on the number of coordinates that recent visits have changed, not on d.

    Attributes:
        beta: float64 [d].
        moving: int32 [d]; its first size[0] (int64 [1]) entries are the coordinates where β or s has just changed.
        moves: bool [d], whether a coordinate is one of these.
    """

    beta: np.ndarray
    moving: np.ndarray
    moves: np.ndarray
    size: np.ndarray


def box_at_best(s: np.ndarray, rho1: float) -> Box:
    """β = clip(s, ±ρ₁), which does not change until s does; s: float64 [d]."""
    d = len(s)
    return Box(np.clip(s, -rho1, rho1), np.zeros(d, np.int32), np.zeros(d, np.bool_), np.zeros(1, np.int64))


def check_box(box: Box, sizes: Sizes) -> None:
    """Check a box that was read from a file, so that no coordinate is out of range, or moves twice.

    Raises:
        ValueError: the moving coordinates are not those that are marked, or not coordinates of w.
    """
    size, moving, d = int(box.size[0]) if len(box.size) == 1 else -1, box.moving, sizes["d"]
    if not len(box.beta) == len(moving) == len(box.moves) == d or not 0 <= size <= d:
        raise ValueError("its moving coordinates are not those of w")
    if not ((moving >= 0) & (moving < d)).all():
        raise ValueError("its moving coordinates are out of range")
    if size != int(box.moves.sum()) or len(np.unique(moving[:size])) != size:
        raise ValueError("its moving coordinates are not those that are marked")


class SapLearner(DualLearner):
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: pair steps on α with the best β; s = Σ α ΔΦ, w = (s − β)/ρ₂ = soft(s, ρ₁)/ρ₂."""

    parameters: Sap
    STATE = (Field("s"),)

    def __init__(self, parameters: Sap, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.s = parameters.penalty.point(self.w)

    def visit(self, examples: np.ndarray) -> None:
        p, settings = self.parameters, (self.problem.unit, self.keeps_planes, difference_buffer(self.problem))
        self.visit_by(_visit, examples, self.s, self.w, p.C, p.rho1, p.rho2, *settings)

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        self.s = extended(self.s, problem.dimension)

    @property
    def point(self) -> np.ndarray:
        return self.s

    def move_to(self, point: np.ndarray) -> None:
        self.s, self.w = point, np.zeros_like(point)
        shrink(self.s, self.w, self.parameters.rho1, self.parameters.rho2)


class ProximalSapLearner(SapLearner):
    """SAP for ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: α moves at cost µ with β fixed, then β moves at cost ν with α fixed.

    The oracle uses w = (s − β)/ρ₂; predictions, figures and certificates use soft(s, ρ₁)/ρ₂, the w of the best β.
    """

    STATE = (Field("box", check=check_box),)

    def __init__(self, parameters: Sap, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.box = box_at_best(self.s, parameters.rho1)

    def visit(self, examples: np.ndarray) -> None:
        p = self.parameters
        state = self.s, self.w, p.C, p.rho1, p.rho2, *_costs(p), self.problem.unit, self.box
        self.visit_by(_visit_proximal, examples, *state, difference_buffer(self.problem))

    def prediction_weights(self) -> np.ndarray:
        w = np.zeros_like(self.s)
        shrink(self.s, w, self.parameters.rho1, self.parameters.rho2)
        return w

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        before, self.box = self.box, box_at_best(np.zeros_like(self.s), self.parameters.rho1)
        for old, new in zip(before, self.box):
            new[: len(old)] = old
        if subtracts and len(dropped):
            self.box = box_at_best(self.s, self.parameters.rho1)

    def move_to(self, point: np.ndarray) -> None:
        """Continue from another dual point, with the best β."""
        super().move_to(point)
        self.box = box_at_best(self.s, self.parameters.rho1)


def _costs(parameters: Sap) -> tuple[float, float]:
    """ν and µ for dual variables that sum to C; the paper's sum to 1."""
    return parameters.C * parameters.nu, parameters.mu / parameters.C


class BatchSapLearner(ProximalSapLearner):
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: at the end of an epoch all α move, then β, once.

    The primal objective is at w = (s − β)/ρ₂, at which the epoch called the oracles.
    """

    _primal: float | None = None
    """The primal at the w of the last finished epoch's oracle calls; not part of the state."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._primal = None

    def visit(self, examples: np.ndarray) -> None:
        sums = Slacks(self.loss, self.squares)
        found = collect_planes(self.problem, self.w, self.planes, examples, sums, n_threads=self.n_threads)
        self.loss, self.squares = found

    def end_epoch(self) -> None:
        self._primal = self.progress().primal
        p, unit, direction = self.parameters, self.problem.unit, difference_buffer(self.problem)
        nu, mu = _costs(p)
        _solve_all_alpha(self.s, self.w, p.C, p.rho2, mu, unit, self.box, direction, self.planes)
        move_beta(self.s, self.w, p.rho1, p.rho2, nu, self.box)

    def progress(self) -> Progress:
        primal = self._primal
        if primal is None:
            primal = self.objectives(self.w, Slacks(self.loss, self.squares)).primal
        return super().progress()._replace(primal=primal)


LINE_STEPS = 30
"""Newton steps for one pair, at most. Where rounding prevents convergence, the step found does not lower D."""

NEGLIGIBLE_SLOPE = 1e-12
"""A derivative of D by the step of a pair, in units of the loss, at which the step is the best one up to rounding."""


@kernel
def _slope(s, step, rho1, rho2, direction, size, loss):
    """dD/dt and −d²D/dt² of the dual at s + t · direction, t = step, with the best β everywhere."""
    slope, curvature = loss, 0.0
    for k in range(size):
        value = direction.values[k]
        weight = soft(s[direction.indices[k]] + step * value, rho1, rho2)
        slope -= value * weight
        if weight != 0.0:
            curvature += value * value / rho2
    return slope, curvature


@kernel
def line_search(s, limit, rho1, rho2, unit, direction, size, loss):
    """The t in [0, limit] that maximises D along the direction, by Newton's method in a bracket: D' falls and is
    piecewise linear.

    Args:
        loss: the rise of Σ αΔ along it.
    """
    if _slope(s, limit, rho1, rho2, direction, size, loss)[0] >= 0.0:
        return limit
    low, high, step = 0.0, limit, 0.0
    for _ in range(LINE_STEPS):
        slope, curvature = _slope(s, step, rho1, rho2, direction, size, loss)
        if abs(slope) <= NEGLIGIBLE_SLOPE * unit:
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
def _solve(example, s, weights, C, rho1, rho2, unit, planes, direction):
    """Pair steps on the example's simplex Σ_y α_i(y) = C, gold included; after each step, β = clip(s, ±ρ₁)."""
    for _ in range(PAIR_STEPS):
        gold_alpha = C - total_alpha(planes, example)
        high, g_high, low, g_low = best_pair(example, weights, planes, gold_alpha)
        if high == low or g_high - g_low <= NEGLIGIBLE_RISE * unit:
            return
        limit = gold_alpha if low == NO_PLANE else planes.alpha[low]
        size, loss = plane_difference(planes, high, low, direction)
        step = line_search(s, limit, rho1, rho2, unit, direction, size, loss)
        move_alpha(planes, high, low, step)
        for k in range(size):
            index = direction.indices[k]
            s[index] += step * direction.values[k]
            weights[index] = soft(s[index], rho1, rho2)


@kernel
def _visit(oracle, data, examples, s, weights, C, rho1, rho2, unit, keeps, direction, sums, planes, plane):
    """Algorithm 2, lines 6 to 15. keeps: whether planes whose α is 0 stay in the working set."""
    for example in examples:
        add_if_violated(oracle, data, example, weights, 0.0, 0.0, sums, planes, plane)
        _solve(example, s, weights, C, rho1, rho2, unit, planes, direction)
        if not keeps:
            drop_inactive(planes, example)


ALPHA_PASSES = 20
"""Passes over the working sets in one α-problem of a batch, at most: the next β changes the best α anyway."""


@kernel
def move_beta(s, weights, rho1, rho2, nu, box):
    """Update β by equation IV.14, and w = (s − β)/ρ₂, in the moving coordinates; drop unchanged ones."""
    kept = 0
    for k in range(box.size[0]):
        j = box.moving[k]
        beta = min(max((s[j] + nu * rho2 * box.beta[j]) / (1.0 + nu * rho2), -rho1), rho1)
        if beta == box.beta[j]:
            box.moves[j] = False
        else:
            box.beta[j] = beta
            weights[j] = (s[j] - beta) / rho2
            box.moving[kept] = j
            kept += 1
    box.size[0] = kept


@kernel
def _proximal_pair(example, weights, C, mu, planes, before):
    """The planes of largest g̃ = g − µ(α − α_old), and of smallest g̃ with α > 0; the gold plane (NO_PLANE) has g = 0.

    Args:
        before: α_old by plane.

    Returns:
        Both planes, the difference of their g̃ (0 if they are the same), and the second's α.
    """
    high, low = NO_PLANE, NO_PLANE
    g_high, g_low, limit = -np.inf, np.inf, 0.0
    gold_alpha, gold_before = C, C
    p = planes.head[example]
    while p != NO_PLANE:
        gold_alpha -= planes.alpha[p]
        gold_before -= before[p]
        g = planes.loss[p] - plane_dot(weights, planes, p) - mu * (planes.alpha[p] - before[p])
        if g > g_high:
            high, g_high = p, g
        if g < g_low and planes.alpha[p] > 0.0:
            low, g_low, limit = p, g, planes.alpha[p]
        p = planes.next[p]
    g = -mu * (gold_alpha - gold_before)
    if g > g_high:
        high, g_high = NO_PLANE, g
    # Rounding may leave gold a tiny α that is too small to change any other α: pair steps would never end.
    if g < g_low and gold_alpha > 1e-12 * C:
        low, g_low, limit = NO_PLANE, g, gold_alpha
    return high, low, max(0.0, g_high - g_low), limit


@kernel
def solve_alpha(example, s, weights, C, rho2, mu, unit, box, planes, before, direction):
    """α-SUB (IV.13): pair steps on the example's simplex, β fixed, α_old in `before`. Returns the number of steps."""
    for steps in range(PAIR_STEPS):
        high, low, violation, limit = _proximal_pair(example, weights, C, mu, planes, before)
        if high == low or violation <= NEGLIGIBLE_RISE * unit:
            return steps
        size, _ = plane_difference(planes, high, low, direction)
        curvature = squared_norm(direction.values, size) / rho2 + 2.0 * mu
        step = pair_step(violation, limit, curvature)
        move_alpha(planes, high, low, step)
        for k in range(size):
            j = direction.indices[k]
            s[j] += step * direction.values[k]
            weights[j] = (s[j] - box.beta[j]) / rho2
            if not box.moves[j]:
                box.moves[j] = True
                box.moving[box.size[0]] = j
                box.size[0] += 1
    return PAIR_STEPS


@kernel
def _visit_proximal(
    oracle, data, examples, s, weights, C, rho1, rho2, nu, mu, unit, box, direction, sums, planes, plane
):
    """Algorithm 2, lines 6 to 15."""
    before = np.zeros(len(planes.alpha))
    for example in examples:
        add_if_violated(oracle, data, example, weights, 0.0, 0.0, sums, planes, plane)
        p = planes.head[example]
        while p != NO_PLANE:
            before[p] = planes.alpha[p]
            p = planes.next[p]
        solve_alpha(example, s, weights, C, rho2, mu, unit, box, planes, before, direction)
        drop_inactive(planes, example)
        move_beta(s, weights, rho1, rho2, nu, box)


@kernel
def _solve_all_alpha(s, weights, C, rho2, mu, unit, box, direction, planes):
    """The α-problem (IV.12) over the working sets, with β fixed, by passes of pair steps over all examples."""
    before = planes.alpha.copy()
    for _ in range(ALPHA_PASSES):
        steps = 0
        for example in range(len(planes.head)):
            steps += solve_alpha(example, s, weights, C, rho2, mu, unit, box, planes, before, direction)
        if steps == 0:
            break
    for example in range(len(planes.head)):
        drop_inactive(planes, example)
