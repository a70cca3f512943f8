"""Parameters of the solvers that keep dual variables."""

from dataclasses import dataclass

from .base import DualParameters, TwoLoopParameters, flag, not_negative, store, whole


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
class Cpd(DualParameters):
    """CPD: cutting planes with dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013 §4.4.1).

    delta: a plane enters a working set when it is violated by more than this (δ); it bounds the gap that is reached.
    """

    learner = "spacy_ssvm.solvers.cpd:CpdLearner"

    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "delta", not_negative(self, "delta", self.delta))


@dataclass(frozen=True, kw_only=True)
class OneSlack(DualParameters):
    """1-slack cutting planes on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Joachims et al. 2009; SVM-Struct).

    The paper's C is nC here, as its planes are means over the examples, and sums here.

    idle_epochs: a plane that has had no weight for more epochs than this is dropped.
    """

    learner = "spacy_ssvm.solvers.one_slack:OneSlackLearner"

    idle_epochs: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "idle_epochs", whole(self, "idle_epochs", self.idle_epochs))


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(DualParameters):
    """Block-coordinate Frank–Wolfe with line search on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Lacoste-Julien et al. 2013).

    The paper's λ is 1/(Cn) here, its w the same, its ℓ and its objectives are 1/(Cn) times those here.

    averaging: predict with the mean of w over all visits, the t-th weighted by t.
    """

    learner = "spacy_ssvm.solvers.frank_wolfe:FrankWolfeLearner"

    averaging: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        flag(self, "averaging", self.averaging)


@dataclass(frozen=True, kw_only=True)
class Sdm(TwoLoopParameters):
    """Sequential dual method on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Shevade et al. 2011), with a two-loop heuristic."""

    learner = "spacy_ssvm.solvers.sdm:SdmLearner"


def dcd_light(
    *, C: float = 0.1, delta: float = 1e-3, tolerance: float = 1e-3, check_oracle: bool = False, seed: int = 0
) -> Dcd:
    """DCD-Light (Chang & Yih 2013, algorithm 2): dual coordinate descent without inner passes."""
    return Dcd(C=C, inner_passes=0, delta=delta, tolerance=tolerance, check_oracle=check_oracle, seed=seed)
