"""Parameters of the solvers for the loss family L_{β,γ}, which joins CRFs and structured SVMs."""

import math
from dataclasses import dataclass
from typing import Literal

from .base import Parameters, flag, not_negative, positive, store, whole


@dataclass(frozen=True, kw_only=True)
class LossFamily(Parameters):
    """What the solvers for L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))) share.

    Martins et al. 2010, equation 3. (β, γ) = (1, 0) is the CRF's loss, (1, 1) softmax-margin, (∞, 1) the structured
    SVM's; (∞, 0), the perceptron's, has its regularised optimum at w = 0 and is refused.

    C: weight of the loss.
    beta: β, positive, or "inf", where log-sum-exp is a maximum and the model need not offer exact marginals.
    gamma: γ, weight of the loss Δ within L, not negative.
    """

    C: float = 0.1
    beta: float | Literal["inf"] = "inf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))
        store(self, "beta", math.inf if str(self.beta) == "inf" else positive(self, "beta", self.beta))
        store(self, "gamma", not_negative(self, "gamma", self.gamma))
        if self.gamma == 0 and not self.is_smooth:
            raise ValueError(
                "solver.beta = inf with solver.gamma = 0 is the perceptron's loss, which w = 0 makes smallest: "
                "raise solver.gamma, set a finite solver.beta, or choose the perceptron"
            )

    @property
    def is_smooth(self) -> bool:
        """Whether β < ∞."""
        return float(self.beta) < math.inf

    @property
    def oracle(self) -> Literal["max", "marginal"]:
        """The oracle that evaluates L and its gradient."""
        return "marginal" if self.is_smooth else "max"


@dataclass(frozen=True, kw_only=True)
class Dca(LossFamily):
    """Dual coordinate ascent, averaged (Martins et al. 2010, algorithms 1 and 2): softmax-margin by default.

    With β = ∞ and γ = 1 this is max-loss 1-best MIRA. It keeps no dual variable: compare it by scores, not objectives.

    C: the largest step.
    """

    learner = "spacy_ssvm.solvers.dca:DcaLearner"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0


@dataclass(frozen=True, kw_only=True)
class Lbfgs(LossFamily):
    """L-BFGS on ½‖w‖² + C Σ L_{β,γ}, β < ∞: softmax-margin by default. Needs SciPy, and room for some 30 times w.

    iterations: of L-BFGS in an epoch, each a pass over all examples or slightly more; every epoch starts it anew.
    tolerance: relative duality gap at which training is complete.
    proximal: where training starts from earlier weights w₀, hold w to them, ½‖w − w₀‖², instead of to zero.
    """

    learner = "spacy_ssvm.solvers.lbfgs:LbfgsLearner"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0
    iterations: int = 10
    tolerance: float = 1e-3
    proximal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_smooth:
            raise ValueError("solver.beta must be finite for L-BFGS, which needs a smooth loss: choose another solver")
        store(self, "iterations", whole(self, "iterations", positive(self, "iterations", self.iterations)))
        store(self, "tolerance", not_negative(self, "tolerance", self.tolerance))
        flag(self, "proximal", self.proximal)
