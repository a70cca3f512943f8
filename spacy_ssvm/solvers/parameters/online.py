"""Parameters of the solvers that learn from one example at a time and remember none."""

from dataclasses import dataclass
from typing import Literal

from .base import Parameters, positive, store


@dataclass(frozen=True, kw_only=True)
class Perceptron(Parameters):
    """Averaged structured perceptron (Chang & Yih 2013 §2.1 and §4.3): w ← w + ΔΦ(ŷ), ŷ decoded without loss."""

    learner = "spacy_ssvm.solvers.perceptron:PerceptronLearner"


@dataclass(frozen=True, kw_only=True)
class Mira(Parameters):
    """Max-loss 1-best MIRA, averaged (Martins et al. 2010, equation 15).

    C: the largest step.
    """

    learner = "spacy_ssvm.solvers.mira:MiraLearner"

    C: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))


@dataclass(frozen=True, kw_only=True)
class Sgd(Parameters):
    """Stochastic subgradient descent on the L1-loss SSVM (Chang & Yih 2013 §4.3), ½‖w‖² + C Σ ξ_i.

    C: weight of the loss.
    eta0: initial learning rate, or None to select it from 2⁻¹ … 2⁻⁵ on 1,000 examples by lowest primal.
    schedule: "bottou", η_T = η₀ / (1 + η₀T / (Cl))^0.75 for l examples, or "printed", the same without l,
        as Chang & Yih 2013 prints it, which decays l times as fast.
    """

    learner = "spacy_ssvm.solvers.sgd:SgdLearner"

    C: float = 0.1
    eta0: float | None = None
    schedule: Literal["bottou", "printed"] = "bottou"

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))
        if self.eta0 is not None:
            store(self, "eta0", positive(self, "eta0", self.eta0))
        if self.schedule not in ("bottou", "printed"):
            raise ValueError(f'solver.schedule must be "bottou" or "printed", not {self.schedule!r}')
