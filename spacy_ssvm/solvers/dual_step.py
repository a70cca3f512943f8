"""A common step of dual variables: of all that moves them in one direction, the length that raises the dual most.

Lee & Roth 2015 and Lee, Chang, Upadhyay & Roth 2015 find it in closed form for the L2-loss; here for every penalty.
"""

from typing import NamedTuple

import numpy as np

from .parameters import DualParameters
from .penalty import Penalty
from .planes import plane_buffer
from .sap import line_search
from .sparse import SparseVector


class DualObjective(NamedTuple):
    """Σ αΔ − Ω*(Σ α ΔΦ) − Σ_i A_i² / 4κ with A_i = Σ_y α_i(y) ≤ bound; the primal is Ω(w) + C Σ ξ^power.

    kappa: C with the L2-loss, ∞ with the L1-loss. bound: ∞ with the L2-loss, C with the L1-loss.
    """

    penalty: Penalty
    C: float
    power: int

    @property
    def kappa(self) -> float:
        return self.C if self.power == 2 else np.inf

    @property
    def bound(self) -> float:
        return np.inf if self.power == 2 else self.C

    def primal(self, w: np.ndarray, slacks: float, squares: float) -> float:
        """The primal at w, float64 [d]. slacks, squares: Σ ξ and Σ ξ²."""
        return self.penalty.values(w)[0] + self.C * (slacks if self.power == 1 else squares)

    def dual(self, w: np.ndarray, linear: float, squares: float) -> float:
        """The dual whose dual point w belongs to. linear, squares: Σ αΔ and Σ_i A_i²."""
        return linear - self.penalty.values(w)[1] - squares / (4.0 * self.kappa)

    def best_step(
        self, s: np.ndarray, direction: SparseVector, linear: float, products: float, curvature: float, limit: float
    ) -> float:
        """The η in [0, limit] that maximises the dual of α + ηΔα.

        s: Σ α ΔΦ, float64 [d]. direction: Σ Δα ΔΦ. linear: Σ ΔαΔ. products: Σ_i A_i ΔA_i. curvature:
        Σ_i ΔA_i². limit: ∞ where no α falls, and no A_i is bounded.
        """
        penalty = self.penalty
        if penalty.rho1:
            if np.isinf(limit):
                return 0.0
            indices, values = direction.indices.astype(np.int64), direction.values
            along = plane_buffer(0)._replace(indices=indices, values=values)
            return float(line_search(s, limit, penalty.rho1, penalty.rho2, abs(linear), along, len(indices), linear))
        slope = linear - float(s[direction.indices] @ direction.values) / penalty.rho2 - products / (2.0 * self.kappa)
        bend = float(direction.values @ direction.values) / penalty.rho2 + curvature / (2.0 * self.kappa)
        return min(limit, max(0.0, slope / bend)) if bend > 0.0 else 0.0


def dual_objective(parameters: DualParameters) -> DualObjective:
    """The dual that a solver with these parameters maximises."""
    return DualObjective(parameters.penalty, parameters.C, parameters.power)
