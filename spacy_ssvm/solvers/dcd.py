"""Dual coordinate descent for the L2-loss SSVM (Chang et al. 2010; Chang & Yih 2013).

DCD-Light and DCD-SSVM (algorithms 1 to 3) update w after each oracle call. CPD (§2.2, §4.4.1) calls all oracles at one
w, then runs coordinate descent over the working sets.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..growth import extended
from ..kernels import kernel
from ..threads import in_threads
from .certificate import GAP_REDUCTION, BatchLearner, CertifiedLearner
from .dual import NEGLIGIBLE_GAP, DualLearner
from .learner import Field, Learner
from .oracle_pass import add_if_violated, add_slack
from .parameters import DualParameters, require_not_negative, require_whole
from .problem import Problem
from .working_set import NO_PLANE, drop_inactive, dual_slack, plane_axpy, plane_dot, total_alpha


@dataclass(frozen=True, kw_only=True)
class Dcd(DualParameters):
    """Dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013, algorithms 1 to 3).

    inner_passes: number of passes over the working sets before each oracle pass (r); 0 is DCD-Light.
    delta: a plane enters a working set when it is violated by more than this (δ), in units of the loss. The final gap
        may be up to δ Σ α + nCδ²; where losses are much smaller than 1, δ has to be smaller, too.
    """

    rule = "dual"
    has_sparse_updates = True

    inner_passes: int = 5
    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self, "inner_passes")
        require_not_negative(self, "delta")

    @property
    def learner(self) -> type[Learner]:
        return DcdLearner


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

    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(self, "delta")

    @property
    def learner(self) -> type[Learner]:
        return CpdLearner


class RestSchedule(NamedTuple):
    """Which of n examples still rest from updates and oracle calls, as the last ones have hardly raised the dual.

    rests: int64 [n], visits without an update to come. pauses: int64 [n], visits without an oracle call to come.
    lengths: int64 [n], of the last pause. slacks: float64 [n], the ξ of the last call. averages: float64 [2], the rise
    of the dual by an update, and by the plane of an oracle call, averaged over about the last n.
    """

    rests: np.ndarray
    pauses: np.ndarray
    lengths: np.ndarray
    slacks: np.ndarray
    averages: np.ndarray


class DcdLearner(DualLearner, CertifiedLearner):
    """½‖w‖² + C Σ ξ_i² by coordinate descent on α ≥ 0, w = Σ α ΔΦ; inner passes precede the oracle pass.

    Unlike the printed algorithms, a visit passes over the example's planes several times, and leaves out what hardly
    raised the dual at earlier visits: an update, an oracle call. A call that is left out counts as its last ξ in the
    running primal; certificates call all oracles.
    """

    parameters: Dcd
    power = 2
    STATE = (Field("schedule"),)

    def __init__(self, parameters: Dcd, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.schedule = schedule(problem.n_examples)
        self._resting: list[np.ndarray] = []
        """Examples that may rest: all others are awake."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        n, C = self.problem.n_examples, self.parameters.C
        self._resting = [np.arange(n)]
        for _ in range(self.parameters.inner_passes):
            _inner_pass(rng.permutation(n), self.w, self.planes, C, self.schedule, self.keeps_planes)

    def visit(self, examples: np.ndarray) -> None:
        C, delta = self.parameters.C, self.parameters.delta
        self._resting.append(examples)
        self._run(_oracle_pass, examples, self.w, C, delta, self.schedule, self.keeps_planes)

    def retune(self, parameters: Any) -> bool:
        if not super().retune(parameters):
            return False
        self.schedule = schedule(self.problem.n_examples)
        self._resting = []
        return True

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        super().restore(state, rng)
        self._resting = [np.arange(self.problem.n_examples)]

    def extend(self, problem: Problem) -> None:
        # Examples of a saved state that come back are no more than before.
        n_examples = problem.n_examples
        if n_examples > self.problem.n_examples:
            for examples in self._resting:
                self._wake(examples)
            self._resting = []
            rests, pauses, lengths, slacks = (extended(part[:n_examples], n_examples) for part in self.schedule[:-1])
            self.schedule = RestSchedule(rests, pauses, lengths, slacks, np.zeros(2))
        super().extend(problem)

    def remove(self, examples: np.ndarray) -> None:
        super().remove(examples)
        self._wake(examples)

    def forget(self, examples: np.ndarray) -> None:
        super().forget(examples)
        self._wake(examples)

    def _wake(self, examples: np.ndarray) -> None:
        for per_example in self.schedule[:-1]:
            per_example[examples] = 0


class CpdLearner(DualLearner, BatchLearner):
    """½‖w‖² + C Σ ξ_i²: all oracles at one w, then coordinate descent on α ≥ 0 over the working sets."""

    parameters: Cpd
    power = 2

    def _find(self, examples: np.ndarray) -> None:
        self._collect(examples, self.parameters.C, self.parameters.delta)

    def _solve(self, rng: np.random.Generator) -> None:
        C = self.parameters.C
        gap = self._gap()
        if gap <= NEGLIGIBLE_GAP * self._dual_sums()[0]:
            return
        for _ in range(0, MAX_PASSES, PASSES_PER_CHECK):
            for _ in range(PASSES_PER_CHECK):
                inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, C, self.keeps_planes)
            if self._gap() <= GAP_REDUCTION * gap:
                break

    def _gap(self) -> float:
        """The duality gap over the working sets alone."""
        n, C = self.problem.n_examples, self.parameters.C

        def add_up(first: int) -> float:
            return float(_gap_of(first, min(first + GAP_PART, n), self.w, self.planes, C))

        return math.fsum(in_threads(self.n_threads, add_up, range(0, n, GAP_PART)))


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

    keeps: whether planes whose α is 0 stay in the working set; otherwise they leave it, which is not part of the
    algorithm as printed. Returns the rise of the dual objective.
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
    """Algorithm 3, lines 4 to 7: a pass without oracle calls. keeps: as in `update_weight`."""
    for example in examples:
        update_weight(example, weights, planes, C, 1, keeps)


SWEEPS = 3
"""Passes of algorithm 1 in one visit of DCD-Light and DCD-SSVM."""


REST = 5
"""Visits without an update after one that has raised the dual by less than the average update."""


MAX_PAUSE = 7
"""Visits without an oracle call between two calls, at most: pauses last 0, 1, 3, 7, 7, … visits."""


MIN_SHARE = 0.1
"""A call whose plane raises the dual by less than this part of the average call's rise makes the pause longer."""


UPDATES, CALLS = 0, 1
"""Places in `RestSchedule.averages`."""


def schedule(n_examples: int) -> RestSchedule:
    """No example rests."""
    rests, pauses, lengths = (np.zeros(n_examples, np.int64) for _ in range(3))
    return RestSchedule(rests, pauses, lengths, np.zeros(n_examples), np.zeros(2))


@kernel
def _average(schedule, place, rise):
    """Add a rise of the dual to its running average; returns the average so far."""
    before = schedule.averages[place]
    schedule.averages[place] += (rise - before) / len(schedule.rests)
    return before


@kernel
def _update_or_rest(example, weights, planes, C, schedule, keeps):
    if planes.head[example] == NO_PLANE:
        return
    if schedule.rests[example] > 0:
        schedule.rests[example] -= 1
        return
    rise = update_weight(example, weights, planes, C, SWEEPS, keeps)
    if rise < _average(schedule, UPDATES, rise):
        schedule.rests[example] = REST


@kernel
def _inner_pass(examples, weights, planes, C, schedule, keeps):
    """Algorithm 3, lines 4 to 7, without the examples that rest."""
    for example in examples:
        _update_or_rest(example, weights, planes, C, schedule, keeps)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, delta, schedule, keeps, sums, planes, plane):
    """Algorithm 2, lines 4 to 10, without the oracle calls of the examples that pause."""
    for example in examples:
        if schedule.pauses[example] > 0:
            schedule.pauses[example] -= 1
            add_slack(sums, schedule.slacks[example])
            _update_or_rest(example, weights, planes, C, schedule, keeps)
            continue
        dual_slack_before, newest = dual_slack(planes, example, C), planes.head[example]
        g = add_if_violated(oracle, data, example, weights, dual_slack_before, delta, sums, planes, plane)
        schedule.slacks[example] = max(0.0, g)
        rise, p = 0.0, planes.head[example]
        if p != newest:
            rise = (g - dual_slack_before) ** 2 / (planes.norm[p] + 1.0 / (2.0 * C)) / 2.0
        if rise > MIN_SHARE * _average(schedule, CALLS, rise):
            schedule.lengths[example] = 0
        else:
            schedule.lengths[example] = min(2 * schedule.lengths[example] + 1, MAX_PAUSE)
        schedule.pauses[example] = schedule.lengths[example]
        update_weight(example, weights, planes, C, SWEEPS, keeps)


PASSES_PER_CHECK = 5
"""Passes of coordinate descent between two evaluations of the gap over the working sets."""


MAX_PASSES = 1000
"""Passes in one epoch, at most; the rest of the gap is left to the next epoch."""


GAP_PART = 512
"""Examples whose gaps a thread adds up at a time."""


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
