"""Parameters of the solvers that make w sparse by ‖w‖₁."""

from dataclasses import dataclass

from .base import DualParameters, Parameters, flag, not_negative, positive, store


@dataclass(frozen=True, kw_only=True)
class Sap(DualParameters):
    """Sequential alternating proximal method on the elastic-net SSVM, ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i.

    Balamurugan et al. 2012, algorithm 2; with ν = µ = 0, β is always at its best and α steps in full.

    rho1: weight of ‖w‖₁; more makes w sparser. rho2: weight of ½‖w‖², positive.
    nu: cost of moving β, as the paper's ν, which goes with duals that sum to 1; on ours, which sum to C, it is Cν.
    mu: cost of moving α, as the paper's µ; on our duals it is µ/C.
    batch: algorithm 1: all oracles and all of α before β moves once; the paper's sequential approach learns sooner.
    """

    rho1: float = 0.5
    rho2: float = 0.5
    nu: float = 0.0
    mu: float = 0.0
    batch: bool = False

    @property
    def learner(self) -> str:  # type: ignore[override]
        """The variant that these parameters ask for."""
        if self.batch:
            return "spacy_ssvm.solvers.sap_batch:BatchSapLearner"
        if self.nu or self.mu:
            return "spacy_ssvm.solvers.sap_proximal:ProximalSapLearner"
        return "spacy_ssvm.solvers.sap:SapLearner"

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "rho1", not_negative(self, "rho1", self.rho1))
        store(self, "rho2", positive(self, "rho2", self.rho2))
        store(self, "nu", not_negative(self, "nu", self.nu))
        store(self, "mu", not_negative(self, "mu", self.mu))
        flag(self, "batch", self.batch)


@dataclass(frozen=True, kw_only=True)
class ProjectedSubgradient(Parameters):
    """Projected subgradient method on Σ ξ_i subject to ‖w‖₁ ≤ ε (Balamurugan et al. 2012, equation II.7 and §V.1).

    epsilon: radius of the L1 ball (ε); less makes w sparser. Choose it by development score.
    eta0: step in the first epoch; it is η₀/√k in epoch k.
    """

    learner = "spacy_ssvm.solvers.projected_subgradient:ProjectedSubgradientLearner"

    epsilon: float = 100.0
    eta0: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "epsilon", positive(self, "epsilon", self.epsilon))
        store(self, "eta0", positive(self, "eta0", self.eta0))


@dataclass(frozen=True, kw_only=True)
class Extragradient(Parameters):
    """Extragradient method on ‖w‖₁ + C Σ ξ_i, a saddle point over working sets (Balamurugan et al. 2012 §II).

    C: weight of the loss; less makes w sparser.
    check_oracle: before each epoch, assert that no plane that is kept is more violated than what the oracles find.
    """

    learner = "spacy_ssvm.solvers.extragradient:ExtragradientLearner"

    C: float = 0.1
    check_oracle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))
        flag(self, "check_oracle", self.check_oracle)
