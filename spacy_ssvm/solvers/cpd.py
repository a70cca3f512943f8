"""Cutting planes with dual coordinate descent, L2-loss (CPD: Chang et al. 2010; Chang & Yih 2013 §2.2, §4.4.1)."""

import numpy as np

from ..kernels import kernel
from .batch import REDUCTION, BatchLearner
from .dcd import inner_pass, tax
from .dual import DualLearner
from .parameters import Cpd
from .working_set import NONE, enter, plane_dot, total_alpha

PASSES = 5
"""Passes of coordinate descent between two evaluations of the working sets' own gap."""

MOST_PASSES = 1000
"""Where rounding keeps the gap from shrinking."""


@kernel
def _collect(oracle, data, examples, weights, C, delta, planes, plane):
    """All oracles at one w. Stops where the working set is full; returns visits, Σ ξ and Σ ξ²."""
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        slack, fits = enter(oracle, data, example, weights, tax(planes, example, C), delta, planes, plane)
        if not fits:
            return visited, total, squares
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
    return len(examples), total, squares


@kernel
def _gap(weights, planes, C):
    """The duality gap if the working sets were all there is: Σ_i C ξ_i² − Σ_y α g + (Σ_y α)² / 4C, each at least 0."""
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


class CpdLearner(BatchLearner, DualLearner):
    """½‖w‖² + C Σ ξ_i²: all oracles at one w, then coordinate descent on α ≥ 0 over the working sets."""

    parameters: Cpd
    power = 2

    def visit(self, examples: np.ndarray) -> None:
        self._visit_all(_collect, examples, self.w, self.parameters.C, self.parameters.delta)

    def _solve(self, rng: np.random.Generator) -> None:
        C = self.parameters.C
        target = REDUCTION * _gap(self.w, self.planes, C)
        for _ in range(0, MOST_PASSES, PASSES):
            for _ in range(PASSES):
                inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, C)
            if _gap(self.w, self.planes, C) <= target:
                break
