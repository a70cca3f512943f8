"""Parameters of the solvers that keep dual variables."""

from dataclasses import dataclass

from .base import DualParameters, not_negative, positive, store, whole


@dataclass(frozen=True, kw_only=True)
class Dcd(DualParameters):
    """Dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013, algorithms 1 to 3).

    inner_passes: passes over the working sets before each oracle pass (r); 0 is DCD-Light.
    delta: a plane enters a working set when it is violated by more than this (δ); it bounds the gap that is reached.
    """

    learner = "spacy_ssvm.solvers.dcd:DcdLearner"

    inner_passes: int = 5
    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "inner_passes", whole(self, "inner_passes", self.inner_passes))
        store(self, "delta", not_negative(self, "delta", self.delta))


@dataclass(frozen=True, kw_only=True)
class Sap(DualParameters):
    """Sequential alternating proximal method on the elastic-net SSVM, ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i.

    Balamurugan et al. 2012, algorithm 2, with ν = µ = 0: β always at its best, α steps in full.

    rho1: weight of ‖w‖₁; more makes w sparser. rho2: weight of ½‖w‖², positive.
    """

    learner = "spacy_ssvm.solvers.sap:SapLearner"

    rho1: float = 0.5
    rho2: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "rho1", not_negative(self, "rho1", self.rho1))
        store(self, "rho2", positive(self, "rho2", self.rho2))


def dcd_light(*, C: float = 0.1, delta: float = 1e-3, tolerance: float = 1e-3, seed: int = 0) -> Dcd:
    """DCD-Light (Chang & Yih 2013, algorithm 2): dual coordinate descent without inner passes."""
    return Dcd(C=C, inner_passes=0, delta=delta, tolerance=tolerance, seed=seed)
