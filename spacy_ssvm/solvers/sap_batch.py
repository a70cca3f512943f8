"""Alternating proximal method for the elastic-net SSVM in batches of all examples (Balamurugan et al. 2012, alg. 1)."""

import numpy as np

from ..kernels import kernel
from .sap_proximal import ProximalSapLearner, move_beta, solve_alpha
from .working_set import drop_inactive

PASSES = 20
"""Passes over the working sets in one α-problem: β will move what more of them would polish."""


@kernel
def _solve_all_alpha(s, weights, C, rho2, mu, box, direction, planes):
    """The α-problem (IV.12) over the working sets, with β fixed, by passes of pair steps from example to example."""
    before = planes.alpha.copy()
    for _ in range(PASSES):
        steps = 0
        for example in range(len(planes.head)):
            steps += solve_alpha(example, s, weights, C, rho2, mu, box, planes, before, direction)
        if steps == 0:
            break
    for example in range(len(planes.head)):
        drop_inactive(planes, example)


class BatchSapLearner(ProximalSapLearner):
    """ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i: oracles at the epoch's first w; at its end all of α moves, then β, once."""

    def visit(self, examples: np.ndarray) -> None:
        self._collect(examples, np.inf, 0.0)

    def end_epoch(self) -> None:
        p = self.parameters
        _solve_all_alpha(self.s, self.w, p.C, p.rho2, self.mu, self.box, self.direction, self.planes)
        move_beta(self.s, self.w, p.rho1, p.rho2, self.nu, self.box)
