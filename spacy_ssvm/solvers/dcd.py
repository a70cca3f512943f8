"""Dual coordinate descent for the L2-loss SSVM (Chang et al. 2010; Chang & Yih 2013).

DCD-Light and DCD-SSVM (algorithms 1 to 3) update w after each oracle call. CPD (§2.2, §4.4.1) calls all oracles at one
w, then runs coordinate descent over the working sets.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .batch import BatchEpoch
from .certificate import GAP_REDUCTION, Slacks
from .dual import NEGLIGIBLE_GAP, DualLearner, collect_planes
from .learner import NO_EXAMPLES, Progress
from .oracle_pass import add_if_violated, add_slack
from .parameters import DualParameters, require_not_negative, require_whole
from .problem import Problem
from .rests import Rests, note_call, note_update, pauses, rests
from .working_set import NO_PLANE, drop_inactive, dual_slack, plane_axpy, plane_dot, total_alpha


@dataclass(frozen=True, kw_only=True)
class Dcd(DualParameters):
    """Dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013, algorithms 1 to 3).

    inner_passes: number of passes over the working sets before each oracle pass (r); 0 is DCD-Light.
    delta: a plane enters a working set when it is violated by more than this (δ), in units of the loss. The final gap
        may be up to δ Σ α + nCδ²; where losses are much smaller than 1, δ has to be smaller, too.
    """

    rule = "dual"
    power = 2
    adds_planes_only = True

    CHECKS = {"inner_passes": require_whole, "delta": require_not_negative}

    inner_passes: int = 5
    delta: float = 1e-3


def dcd_light(
    *, C: float = 0.1, delta: float = 1e-3, tolerance: float = 1e-3, check_oracle: bool = False, seed: int | None = None
) -> Dcd:
    """DCD-Light (Chang & Yih 2013, algorithm 2): dual coordinate descent without inner passes."""
    return Dcd(C=C, inner_passes=0, delta=delta, tolerance=tolerance, check_oracle=check_oracle, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Cpd(DualParameters):
    """CPD: cutting planes with dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013 §4.4.1).

    delta: a plane enters a working set when it is violated by more than this (δ), in units of the loss. The final gap
        may be up to δ Σ α + nCδ²; where losses are much smaller than 1, δ has to be smaller, too.
    """

    rule = "dual"
    power = 2

    CHECKS = {"delta": require_not_negative}

    delta: float = 1e-3


SWEEPS = 3
"""Passes of algorithm 1 in one visit of DCD-Light and DCD-SSVM."""


class DcdLearner(DualLearner, of=Dcd):
    """½‖w‖² + C Σ ξ_i² by coordinate descent on α ≥ 0, w = Σ α ΔΦ; inner passes precede the oracle pass.

    Unlike the printed algorithms, a visit passes over the example's planes several times, and examples have `Rests`. A
    call that is left out counts as its last ξ in the running primal; certificates call all oracles.
    """

    parameters: Dcd
    STATE = Rests.STATE

    def __init__(self, parameters: Dcd, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.rests = Rests(problem.n_examples)

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.rests.begin_epoch()
        n, C = self.problem.n_examples, self.parameters.C
        for _ in range(self.parameters.inner_passes):
            _inner_pass(rng.permutation(n), self.w, self.planes, C, self.rests.schedule, self.keeps_planes)

    def visit(self, examples: np.ndarray) -> None:
        C, delta = self.parameters.C, self.parameters.delta
        self.rests.note(examples)
        self.visit_by(_oracle_pass, examples, self.w, C, delta, self.rests.schedule, self.keeps_planes)

    def retune(self, parameters: Any) -> bool:
        if not super().retune(parameters):
            return False
        self.rests = Rests(self.problem.n_examples)
        return True

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        self.rests.change(problem.n_examples, dropped)


PASSES_PER_CHECK = 5
"""Passes of coordinate descent between two evaluations of the gap over the working sets."""

MAX_PASSES = 1000
"""Passes in one epoch, at most; the rest of the gap is left to the next epoch."""

GAP_PART = 512
"""Examples whose gaps a thread adds up at a time."""


class CpdLearner(DualLearner, of=Cpd):
    """½‖w‖² + C Σ ξ_i²: all oracles at one w, then coordinate descent on α ≥ 0 over the working sets."""

    parameters: Cpd
    STATE = BatchEpoch.STATE

    def __init__(self, parameters: Cpd, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.batch = BatchEpoch(problem.n_examples)
        self._rng = parameters.generator()

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._rng = rng
        self.batch.begin_epoch()

    def visit(self, examples: np.ndarray) -> None:
        new, p, sums = self.batch.new(examples), self.parameters, Slacks(self.loss, self.squares)
        found = collect_planes(self.problem, self.w, self.planes, new, sums, p.C, p.delta, self.n_threads)
        self.loss, self.squares = found

    def end_epoch(self) -> None:
        if not self.batch.end_epoch(self.progress(), self.problem, self.parameters.tolerance):
            self._solve()

    def _solve(self) -> None:
        """Coordinate descent until the gap over the working sets is a fraction of its start."""
        n, C, gap = self.problem.n_examples, self.parameters.C, self._gap()
        if gap <= NEGLIGIBLE_GAP * self.dual_sums()[0]:
            return
        for _ in range(0, MAX_PASSES, PASSES_PER_CHECK):
            for _ in range(PASSES_PER_CHECK):
                inner_pass(self._rng.permutation(n), self.w, self.planes, C, self.keeps_planes)
            if self._gap() <= GAP_REDUCTION * gap:
                break

    def _gap(self) -> float:
        """The duality gap over the working sets alone."""
        n, C = self.problem.n_examples, self.parameters.C

        def add_up(first: int) -> float:
            return float(_gap_of(first, min(first + GAP_PART, n), self.w, self.planes, C))

        return math.fsum(in_threads(self.n_threads, add_up, range(0, n, GAP_PART)))

    def progress(self) -> Progress:
        """Figures; the primal objective is at the w at which the epoch called the oracles."""
        return self.batch.exact(super().progress())

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        self.batch.change(problem.n_examples, dropped, subtracts)

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        super().restore(state, rng)
        self._rng = rng


@kernel
def _sweep(example, weights, planes, C):
    """Algorithm 1 without the shuffling of line 1: one pass over the example's dual variables, newest plane first.

    Returns the rise of the dual objective.
    """
    total, rise = total_alpha(planes, example), 0.0
    p = planes.head[example]
    while p != NO_PLANE:
        violation = planes.loss[p] - plane_dot(weights, planes, p) - total / (2.0 * C)
        curvature = planes.norm[p] + 1.0 / (2.0 * C)
        alpha = max(0.0, planes.alpha[p] + violation / curvature)
        step = alpha - planes.alpha[p]
        if step != 0.0:
            plane_axpy(weights, step, planes, p)
            total += step
            planes.alpha[p] = alpha
            rise += step * (violation - step * curvature / 2.0)
        p = planes.next[p]
    return rise


@kernel
def update_weight(example, weights, planes, C, sweeps, keeps):
    """Algorithm 1, several times: an example's weights are read from memory once, and then are at hand.

    Args:
        keeps: whether planes whose α is 0 stay in the working set; otherwise they leave it, which is not part of the
            algorithm as printed.

    Returns:
        The rise of the dual objective.
    """
    if planes.head[example] == NO_PLANE:
        return 0.0
    rise = _sweep(example, weights, planes, C)
    if planes.next[planes.head[example]] != NO_PLANE:
        for _ in range(sweeps - 1):
            rise += _sweep(example, weights, planes, C)
    if not keeps:
        drop_inactive(planes, example)
    return rise


@kernel
def inner_pass(examples, weights, planes, C, keeps):
    """Algorithm 3, lines 4 to 7, without rests: a pass without oracle calls. keeps: as in `update_weight`."""
    for example in examples:
        update_weight(example, weights, planes, C, 1, keeps)


@kernel
def _update_unless_resting(example, weights, planes, C, schedule, keeps):
    if planes.head[example] != NO_PLANE and not rests(schedule, example):
        note_update(schedule, example, update_weight(example, weights, planes, C, SWEEPS, keeps))


@kernel
def _inner_pass(examples, weights, planes, C, schedule, keeps):
    """Algorithm 3, lines 4 to 7."""
    for example in examples:
        _update_unless_resting(example, weights, planes, C, schedule, keeps)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, delta, schedule, keeps, sums, planes, plane):
    """Algorithm 2, lines 4 to 10."""
    for example in examples:
        if pauses(schedule, example):
            add_slack(sums, schedule.slacks[example])
            _update_unless_resting(example, weights, planes, C, schedule, keeps)
            continue
        before, newest = dual_slack(planes, example, C), planes.head[example]
        g = add_if_violated(oracle, data, example, weights, before, delta, sums, planes, plane)
        rise, p = 0.0, planes.head[example]
        if p != newest:
            rise = (g - before) ** 2 / (planes.norm[p] + 1.0 / (2.0 * C)) / 2.0
        note_call(schedule, example, max(0.0, g), rise)
        update_weight(example, weights, planes, C, SWEEPS, keeps)


@kernel
def _gap_of(first, end, weights, planes, C):
    """Σ_i C ξ_i² − Σ_y α g + (Σ_y α)² / 4C, each at least 0, of the examples from `first` to `end`."""
    gap = 0.0
    for example in range(first, end):
        slack = 0.0
        p = planes.head[example]
        while p != NO_PLANE:
            violation = planes.loss[p] - plane_dot(weights, planes, p)
            slack = max(slack, violation)
            gap -= planes.alpha[p] * violation
            p = planes.next[p]
        gap += C * slack**2 + total_alpha(planes, example) ** 2 / (4.0 * C)
    return gap
