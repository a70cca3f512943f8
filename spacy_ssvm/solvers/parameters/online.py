"""Parameters of the solvers that learn from one example at a time and remember none."""

from dataclasses import dataclass
from typing import Literal

from .base import Parameters, positive, store
from .smooth import LossFamily


@dataclass(frozen=True, kw_only=True)
class Perceptron(Parameters):
    """Averaged structured perceptron (Chang & Yih 2013 §2.1 and §4.3): w ← w + ΔΦ(ŷ), ŷ decoded without loss."""

    learner = "spacy_ssvm.solvers.perceptron:PerceptronLearner"


@dataclass(frozen=True, kw_only=True)
class Sgd(LossFamily):
    """Stochastic (sub)gradient descent on ½‖w‖² + C Σ L_{β,γ}: by default the L1-loss SSVM (Chang & Yih 2013 §4.3).

    eta0: initial learning rate, or None to select it from 2⁻¹ … 2⁻⁵ on 1,000 examples by lowest primal.
    schedule: "bottou", η_T = η₀ / (1 + η₀T / (Cl))^0.75 for l examples, or "printed", the same without l,
        as Chang & Yih 2013 prints it, which decays l times as fast, or "epochs", η_T = η₀ / (1 + T / l), as Martins
        et al. 2010 have it for β < ∞. "bottou" is the default for every loss: it alone decays with the λ = 1/(Cl) of
        the objective, where "epochs" comes near the optimum but slowly if C is large.
    """

    learner = "spacy_ssvm.solvers.sgd:SgdLearner"

    eta0: float | None = None
    schedule: Literal["bottou", "printed", "epochs"] = "bottou"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta0 is not None:
            store(self, "eta0", positive(self, "eta0", self.eta0))
        if self.schedule not in ("bottou", "printed", "epochs"):
            raise ValueError(f'solver.schedule must be "bottou", "printed" or "epochs", not {self.schedule!r}')
