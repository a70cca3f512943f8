"""Cutting planes with dual coordinate descent, L2-loss (CPD: Chang et al. 2010; Chang & Yih 2013 §2.2, §4.4.1)."""

import numpy as np

from ..kernels import kernel
from .batch import REDUCTION, BatchLearner
from .dcd import inner_pass
from .dual import DualLearner
from .parameters import Cpd
from .working_set import NONE, plane_dot, total_alpha

PASSES = 5
"""Passes of coordinate descent between two evaluations of the working sets' own gap."""

MAX_PASSES = 1000
"""Passes after which the rest of the gap is left to the next epoch."""

ROUNDING = 1e-10
"""Share of Σ αΔ below which the gap is not worth a pass."""


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
        if gap <= ROUNDING * self._dual_sums()[0]:
            return
        for _ in range(0, MAX_PASSES, PASSES):
            for _ in range(PASSES):
                inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, C)
            if _gap(self.w, self.planes, C) <= REDUCTION * gap:
                break
