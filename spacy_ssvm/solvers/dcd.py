"""Dual coordinate descent for the L2-loss SSVM (Chang et al. 2010; Chang & Yih 2013).

DCD-Light and DCD-SSVM (algorithms 1 to 3) update w after each oracle call. CPD (§2.2, §4.4.1) calls all oracles at one
w, then runs coordinate descent over the working sets.
"""

import numpy as np

from ..kernels import kernel
from .certificate import GAP_REDUCTION, BatchLearner, CertifiedLearner
from .dual import NEGLIGIBLE_GAP, DualLearner
from .oracle_pass import add_if_violated
from .parameters import Cpd, Dcd
from .working_set import NONE, drop_inactive, dual_slack, plane_axpy, plane_dot, total_alpha


@kernel
def update_weight(example, weights, planes, C):
    """Algorithm 1 without the shuffling of line 1: one pass over the example's dual variables, newest plane first.

    Planes whose α is 0 then leave the working set, which is not part of the algorithm as printed.
    """
    total = total_alpha(planes, example)
    p = planes.head[example]
    while p != NONE:
        violation = planes.loss[p] - plane_dot(weights, planes, p) - total / (2.0 * C)
        alpha = max(0.0, planes.alpha[p] + violation / (planes.norm[p] + 1.0 / (2.0 * C)))
        step = alpha - planes.alpha[p]
        if step != 0.0:
            plane_axpy(weights, step, planes, p)
            total += step
            planes.alpha[p] = alpha
        p = planes.next[p]
    drop_inactive(planes, example)


@kernel
def inner_pass(examples, weights, planes, C):
    """Algorithm 3, lines 4 to 7: a pass without oracle calls."""
    for example in examples:
        update_weight(example, weights, planes, C)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, delta, sums, planes, plane):
    """Algorithm 2, lines 4 to 10."""
    for example in examples:
        add_if_violated(oracle, data, example, weights, dual_slack(planes, example, C), delta, sums, planes, plane)
        update_weight(example, weights, planes, C)


class DcdLearner(DualLearner, CertifiedLearner):
    """½‖w‖² + C Σ ξ_i² by coordinate descent on α ≥ 0, w = Σ α ΔΦ; inner passes precede the oracle pass."""

    parameters: Dcd
    power = 2

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        for _ in range(self.parameters.inner_passes):
            inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, self.parameters.C)

    def visit(self, examples: np.ndarray) -> None:
        self._run(_oracle_pass, examples, self.w, self.parameters.C, self.parameters.delta)


PASSES_PER_CHECK = 5
"""Passes of coordinate descent between two evaluations of the gap over the working sets."""

MAX_PASSES = 1000
"""Passes in one epoch, at most; the rest of the gap is left to the next epoch."""


@kernel
def _gap(weights, planes, C):
    """The duality gap over the working sets alone: Σ_i C ξ_i² − Σ_y α g + (Σ_y α)² / 4C, each at least 0."""
    gap = 0.0
    for example in range(len(planes.head)):
        slack = 0.0
        p = planes.head[example]
        while p != NONE:
            violation = planes.loss[p] - plane_dot(weights, planes, p)
            slack = max(slack, violation)
            gap -= planes.alpha[p] * violation
            p = planes.next[p]
        gap += C * slack**2 + total_alpha(planes, example) ** 2 / (4.0 * C)
    return gap


class CpdLearner(DualLearner, BatchLearner):
    """½‖w‖² + C Σ ξ_i²: all oracles at one w, then coordinate descent on α ≥ 0 over the working sets."""

    parameters: Cpd
    power = 2

    def _find(self, examples: np.ndarray) -> None:
        self._collect(examples, self.parameters.C, self.parameters.delta)

    def _solve(self, rng: np.random.Generator) -> None:
        C = self.parameters.C
        gap = _gap(self.w, self.planes, C)
        if gap <= NEGLIGIBLE_GAP * self._dual_sums()[0]:
            return
        for _ in range(0, MAX_PASSES, PASSES_PER_CHECK):
            for _ in range(PASSES_PER_CHECK):
                inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, C)
            if _gap(self.w, self.planes, C) <= GAP_REDUCTION * gap:
                break
