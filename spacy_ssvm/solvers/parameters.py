"""The solvers' parameters, named as in configs."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self


SMALLEST, LARGEST = 1e-30, 1e15
"""The limits of parameters and costs: products and squares of a few of them are floats with many digits, and scores
that they lead to are far from those of what is forbidden."""

LARGEST_BETA = 1e30
"""The limit of β, which only multiplies differences of scores inside a log-sum-exp: far below it, β is as good as ∞."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of all solvers.

    seed: of the order in which examples are visited; None for that of the pipeline's training, or 0 without one.
    """

    learner: ClassVar[str]
    """module:class of the implementation."""
    block: ClassVar[str | None] = None
    """module:class of the blocks in which several workers learn; None where they do not."""
    completes_once: ClassVar[bool] = False
    """Whether gold that is known in part is completed once, by the weights that training starts from, and then learnt
    as if all of it were annotated; if not, it is completed before each epoch."""

    has_sparse_updates: ClassVar[bool] = False
    """Whether w starts at zero and is moved by planes of the max-oracle only, so that most weights are never used."""

    keeps_absent_rows: ClassVar[bool] = False
    """Whether the weights of features that no example has stay as they are, whatever w starts from."""

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None:
            _whole(self, "seed")

    def seeded(self, seed: int) -> "Self":
        """Parameters with this seed, if they have none."""
        return replace(self, seed=seed) if self.seed is None else self

    def generator(self) -> np.random.Generator:
        """Random numbers by the seed, or by 0 without one."""
        return np.random.default_rng(self.seed or 0)


AnyParameters: TypeAlias = Any
"""The annotation of `Parameters` in a component's factory: with the class itself, the config system of spaCy 3.8.11 and
earlier would allow only its own fields, and none of its subclasses'."""


@dataclass(frozen=True, kw_only=True)
class DualParameters(Parameters):
    """The parameters that the solvers with dual variables share.

    C: weight of the loss.
    tolerance: relative duality gap at which training is complete; 0 is never reached. A positive tolerance must be at
        least 1e-8 (1e-6 for Frank–Wolfe): planes are stored in single precision, and so no smaller gap is known.
    check_oracle: before each epoch, assert that no stored plane is more violated than the one its oracle finds: an
        additional pass, which detects oracles that are not exact.
    """

    min_tolerance: ClassVar[float] = 1e-8
    """The smallest positive tolerance: the relative rounding error of gaps, because planes are in single precision."""

    C: float = 0.1
    tolerance: float = 1e-3
    check_oracle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self, "C")
        _tolerance(self, self.min_tolerance)
        _flag(self, "check_oracle")


@dataclass(frozen=True, kw_only=True)
class TwoLoopParameters(DualParameters):
    """The parameters that the solvers with the two-loop heuristic of the LSE-SSVM paper share.

    kappa1: number of initial epochs without inner passes (κ₁).
    kappa2: afterwards, one pass in κ₂ (at least 1) calls the oracles; the others are inner passes.
    """

    kappa1: int = 10
    kappa2: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole(self, "kappa1")
        _positive_whole(self, "kappa2")


@dataclass(frozen=True, kw_only=True)
class LossFamily(Parameters):
    """The parameters of the solvers for L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))).

    Martins et al. 2010, equation 3. (β, γ) = (1, 0) is the loss of the CRF, (1, 1) that of softmax-margin, (∞, 1) that
    of the structured SVM. (∞, 0), that of the perceptron, is refused: its regularised optimum is w = 0.

    C: weight of the loss.
    beta: β, positive, or "inf": then log-sum-exp is a maximum, and the model need not offer exact marginals.
    gamma: γ, weight of the loss Δ within L, at least 0.
    """

    C: float = 0.1
    beta: float | Literal["inf"] = "inf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self, "C")
        if str(self.beta) == "inf":
            object.__setattr__(self, "beta", math.inf)
        else:
            _positive(self, "beta", LARGEST_BETA)
        _not_negative(self, "gamma")
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
class Perceptron(Parameters):
    """Averaged structured perceptron (Chang & Yih 2013 §2.1 and §4.3): w ← w + ΔΦ(ŷ), ŷ decoded without loss."""

    learner = "spacy_ssvm.solvers.perceptron:PerceptronLearner"
    block = "spacy_ssvm.solvers.mixed_block:MixedBlock"


@dataclass(frozen=True, kw_only=True)
class Correction(Parameters):
    """Corrections of a component that was loaded: passive–aggressive steps that hardly move frequent features.

    max_updates: of an example in one visit; they end as soon as it is predicted correctly. If it is so before, those of
        `Problem.with_margin` end at the margin.
    """

    learner = "spacy_ssvm.solvers.correction:CorrectionLearner"
    completes_once = True
    keeps_absent_rows = True

    max_updates: int = 10


@dataclass(frozen=True, kw_only=True)
class Mira(Parameters):
    """Max-loss MIRA, averaged: a step minimises the change of w, ½‖w′ − w‖², plus C times the largest violation among
    the k best structures, which are decoded with their loss (Martins et al. 2010, equations 15 and 17).

    C: weight of the loss; the largest step where k = 1.
    k: number of structures of an example in a step; above 1, the model must offer the k best structures exactly.
    """

    learner = "spacy_ssvm.solvers.mira:MiraLearner"
    block = "spacy_ssvm.solvers.mixed_block:MixedBlock"

    C: float = 0.1
    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self, "C")
        _positive_whole(self, "k")


@dataclass(frozen=True, kw_only=True)
class PredictionMira(Parameters):
    """Prediction-based MIRA, averaged: the smallest change of w after which none of the k best structures, which are
    decoded without their loss, is violated (Chang & Yih 2013 §2.1; Martins et al. 2010, footnote 7).

    k: number of structures of an example in a step; above 1, the model must offer the k best structures exactly.
    """

    learner = "spacy_ssvm.solvers.mira:PredictionMiraLearner"
    block = "spacy_ssvm.solvers.mixed_block:MixedBlock"

    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive_whole(self, "k")


@dataclass(frozen=True, kw_only=True)
class Sgd(LossFamily):
    """Stochastic (sub)gradient descent on ½‖w‖² + C Σ L_{β,γ}: by default the L1-loss SSVM (Chang & Yih 2013 §4.3).

    eta0: initial learning rate, or None to select it from 2⁻¹ … 2⁻⁵ on 1,000 examples by the lowest primal; in a
        stream, on the first batch only.
    schedule: "bottou", η_T = η₀ / (1 + η₀T / (Cl))^0.75 for l examples; or "printed", the same without l, as printed in
        Chang & Yih 2013, which decays l times as fast; or "epochs", η_T = η₀ / (1 + T / l), as in Martins et al. 2010
        for β < ∞. "bottou" is the default for every loss, because it decays with the λ = 1/(Cl) of the objective;
        "epochs" approaches the optimum slowly if C is large.
    """

    learner = "spacy_ssvm.solvers.sgd:SgdLearner"

    eta0: float | None = None
    schedule: Literal["bottou", "printed", "epochs"] = "bottou"

    @property
    def block(self) -> str | None:  # type: ignore[override]
        """The printed rate of a block depends on its size: the mean would be biased to small blocks."""
        return None if self.schedule == "printed" else "spacy_ssvm.solvers.descent_block:DescentBlock"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta0 is not None:
            _positive(self, "eta0")
        if self.schedule not in ("bottou", "printed", "epochs"):
            raise ValueError(f'solver.schedule must be "bottou", "printed" or "epochs", not {self.schedule!r}')


@dataclass(frozen=True, kw_only=True)
class Dca(LossFamily):
    """Dual coordinate ascent, averaged (Martins et al. 2010, algorithms 1 and 2): softmax-margin by default.

    With β = ∞ and γ = 1 this is max-loss 1-best MIRA. No dual variables are stored: compare by scores, not objectives.

    C: the largest step.
    """

    learner = "spacy_ssvm.solvers.dca:DcaLearner"
    block = "spacy_ssvm.solvers.mixed_block:MixedBlock"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0


@dataclass(frozen=True, kw_only=True)
class Lbfgs(LossFamily):
    """L-BFGS on ½‖w‖² + C Σ L_{β,γ}, β < ∞: softmax-margin by default. Needs SciPy, and memory for about 20 times w.

    iterations: of L-BFGS in an epoch, each about one pass over all examples. The next epoch continues where they end.
    tolerance: relative duality gap at which training is complete. With small β, a part C log|Y| / β of the primal is
        constant, so that the relative gap is small from the start: choose a smaller tolerance.
    proximal: where training starts from earlier weights w₀, regularise by ½‖w − w₀‖² instead of ½‖w‖².
    """

    learner = "spacy_ssvm.solvers.lbfgs:LbfgsLearner"
    block = "spacy_ssvm.solvers.sum_block:LossBlock"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0
    iterations: int = 10
    tolerance: float = 1e-3
    proximal: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_smooth:
            raise ValueError("solver.beta must be finite for L-BFGS, which needs a smooth loss: choose another solver")
        _positive(self, "iterations")
        _whole(self, "iterations")
        _tolerance(self, 0.0)
        _flag(self, "proximal")


@dataclass(frozen=True, kw_only=True)
class ExponentiatedGradient(LossFamily):
    """Exponentiated gradient on the dual of ½‖w‖² + C Σ L_{β,γ}, β < ∞, one example after the other.

    Collins et al. 2008, with a rate for each example. Softmax-margin by default.

    tolerance: relative duality gap at which training is complete; 0 is never reached. A positive tolerance must be at
        least 1e-6: marginals are stored in single precision. With small β, a part C log|Y| / β of the primal is
        constant, so that the relative gap is small from the start: choose a smaller tolerance.
    """

    learner = "spacy_ssvm.solvers.exponentiated_gradient:ExponentiatedGradientLearner"
    min_tolerance: ClassVar[float] = 1e-6

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_smooth:
            raise ValueError(
                "solver.beta must be finite for exponentiated gradient, which needs a smooth loss: choose another "
                "solver"
            )
        _tolerance(self, self.min_tolerance)


@dataclass(frozen=True, kw_only=True)
class Dcd(DualParameters):
    """Dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013, algorithms 1 to 3).

    inner_passes: number of passes over the working sets before each oracle pass (r); 0 is DCD-Light.
    delta: a plane enters a working set when it is violated by more than this (δ), in units of the loss. The final gap
        may be up to δ Σ α + nCδ²; where losses are much smaller than 1, δ has to be smaller, too.
    """

    learner = "spacy_ssvm.solvers.dcd:DcdLearner"
    block = "spacy_ssvm.solvers.dual_block:DualBlock"
    has_sparse_updates = True

    inner_passes: int = 5
    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole(self, "inner_passes")
        _not_negative(self, "delta")


def dcd_light(
    *, C: float = 0.1, delta: float = 1e-3, tolerance: float = 1e-3, check_oracle: bool = False, seed: int | None = None
) -> Dcd:
    """DCD-Light (Chang & Yih 2013, algorithm 2): dual coordinate descent without inner passes."""
    return Dcd(C=C, inner_passes=0, delta=delta, tolerance=tolerance, check_oracle=check_oracle, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Cpd(DualParameters):
    """CPD: cutting planes with dual coordinate descent on the L2-loss SSVM, ½‖w‖² + C Σ ξ_i² (Chang & Yih 2013 §4.4.1).

    delta: a plane enters a working set when it is violated by more than this (δ), in units of the loss. The final gap
        may be up to δ Σ α + nCδ²; where losses are much smaller than 1, δ has to be smaller, too.
    """

    learner = "spacy_ssvm.solvers.dcd:CpdLearner"
    block = "spacy_ssvm.solvers.dual_block:DualBlock"

    delta: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        _not_negative(self, "delta")


@dataclass(frozen=True, kw_only=True)
class OneSlack(DualParameters):
    """1-slack cutting planes on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Joachims et al. 2009; SVM-Struct).

    The paper's C is nC here, because its planes are means over the examples; here they are sums.

    idle_epochs: a plane whose α has been 0 for more epochs than this is dropped.
    """

    learner = "spacy_ssvm.solvers.one_slack:OneSlackLearner"
    block = "spacy_ssvm.solvers.sum_block:PlaneBlock"

    idle_epochs: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        _whole(self, "idle_epochs")


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(DualParameters):
    """Block-coordinate Frank–Wolfe with line search on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Lacoste-Julien et al. 2013).

    The paper's λ is 1/(Cn) here; w is the same; the paper's ℓ and objectives are 1/(Cn) times those here.

    averaging: predict with the mean of w over all visits, where visit t has weight t.
    """

    learner = "spacy_ssvm.solvers.frank_wolfe:FrankWolfeLearner"
    min_tolerance = 1e-6  # Means of planes are rounded in every step.

    averaging: bool = False

    @property
    def block(self) -> str | None:  # type: ignore[override]
        """Averages are not shared."""
        return None if self.averaging else "spacy_ssvm.solvers.dual_block:MeanBlock"

    def __post_init__(self) -> None:
        super().__post_init__()
        _flag(self, "averaging")


@dataclass(frozen=True, kw_only=True)
class Sdm(TwoLoopParameters):
    """Sequential dual method on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Shevade et al. 2011), with a two-loop heuristic."""

    learner = "spacy_ssvm.solvers.sdm:SdmLearner"
    block = "spacy_ssvm.solvers.dual_block:DualBlock"


@dataclass(frozen=True, kw_only=True)
class Sap(DualParameters):
    """Sequential alternating proximal method on the elastic-net SSVM, ρ₁‖w‖₁ + (ρ₂/2)‖w‖² + C Σ ξ_i.

    Balamurugan et al. 2012, algorithm 2; with ν = µ = 0, β is always the best one, and α takes full steps.

    rho1: weight of ‖w‖₁; larger values make w sparser. rho2: weight of ½‖w‖², positive.
    nu: cost of moving β, the paper's ν, for dual variables that sum to 1; here they sum to C, and the cost is Cν.
    mu: cost of moving α, the paper's µ; for dual variables that sum to C it is µ/C.
    batch: use algorithm 1, which calls all oracles and moves all α before β moves once; the sequential algorithm (the
        default) converges sooner.
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
            return "spacy_ssvm.solvers.sap:BatchSapLearner"
        if self.nu or self.mu:
            return "spacy_ssvm.solvers.sap:ProximalSapLearner"
        return "spacy_ssvm.solvers.sap:SapLearner"

    @property
    def block(self) -> str | None:  # type: ignore[override]
        """For the sequential algorithm without costs of moving."""
        return None if self.batch or self.nu or self.mu else "spacy_ssvm.solvers.dual_block:DualBlock"

    def __post_init__(self) -> None:
        super().__post_init__()
        _not_negative(self, "rho1")
        _positive(self, "rho2")
        _not_negative(self, "nu")
        _not_negative(self, "mu")
        _flag(self, "batch")


@dataclass(frozen=True, kw_only=True)
class ProjectedSubgradient(Parameters):
    """Projected subgradient method on Σ ξ_i subject to ‖w‖₁ ≤ ε (Balamurugan et al. 2012, equation II.7 and §V.1).

    epsilon: radius of the L1 ball (ε); smaller values make w sparser. Choose it by development score.
    eta0: step in the first epoch; it is η₀/√k in epoch k.
    """

    learner = "spacy_ssvm.solvers.l1:ProjectedSubgradientLearner"

    epsilon: float = 100.0
    eta0: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self, "epsilon")
        _positive(self, "eta0")


@dataclass(frozen=True, kw_only=True)
class Extragradient(Parameters):
    """Extragradient method on ‖w‖₁ + C Σ ξ_i, a saddle point over working sets (Balamurugan et al. 2012 §II).

    C: weight of the loss; smaller values make w sparser.
    check_oracle: before each epoch, assert that no stored plane is more violated than the one its oracle finds.
    """

    learner = "spacy_ssvm.solvers.l1:ExtragradientLearner"

    C: float = 0.1
    check_oracle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self, "C")
        _flag(self, "check_oracle")


@dataclass(frozen=True, kw_only=True)
class Lse(TwoLoopParameters):
    """The parameters of both solvers of the LSE-SSVM.

    C: weight of the loss, which counts every violated structure: good values are smaller than with other solvers.
    tolerance: training is complete when the gap over the structures in the working sets, relative to their primal
        objective, is at most this. The gap over all structures is larger and unknown; as an epoch adds at most one
        structure per example, it is several times larger if there are few epochs.
    oracle: "outside", the best structure that is not in the working set yet; or "printed", the best of all, as in the
        LSE-SSVM paper: once it is in the working set, nothing new enters, and training stops short of the optimum.
    """

    C: float = 0.01
    oracle: Literal["outside", "printed"] = "outside"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle not in ("outside", "printed"):
            raise ValueError(f'solver.oracle must be "outside" or "printed", not {self.oracle!r}')


@dataclass(frozen=True, kw_only=True)
class LseSdcd(Lse):
    """Sequential dual coordinate descent on the LSE-SSVM (LSE-SSVM paper, algorithm 2); parameters as for both."""

    learner = "spacy_ssvm.solvers.lse:LseSdcdLearner"


@dataclass(frozen=True, kw_only=True)
class LseCuttingPlane(Lse):
    """1-slack cutting planes on the LSE-SSVM (LSE-SSVM paper, algorithm 1); parameters as for both."""

    learner = "spacy_ssvm.solvers.lse:LseCuttingPlaneLearner"


def _number(parameters: Parameters, name: str) -> float:
    """Check that a parameter is a finite number, and store it as a float: configs may hold an int or a str instead."""
    value = getattr(parameters, name)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"solver.{name} must be a finite number, not {value!r}")
    object.__setattr__(parameters, name, number)
    return number


def require_moderate(value: float, name: str, largest: float = LARGEST) -> None:
    """Check that a number of at least 0 is 0 or between SMALLEST and `largest`.

    Raises:
        ValueError: it is not; the message begins with `name`.
    """
    if value and not SMALLEST <= value <= largest:
        raise ValueError(
            f"{name} must be between {SMALLEST:g} and {largest:g}, not {value:g}: beyond that, objectives and scores "
            "overflow or vanish"
        )


def _tolerance(parameters: Any, smallest: float) -> None:
    if _number(parameters, "tolerance") < 0:
        raise ValueError(f"solver.tolerance must not be negative, not {parameters.tolerance!r}")
    if 0 < parameters.tolerance < smallest:
        raise ValueError(
            f"solver.tolerance must be at least {smallest:g}, not {parameters.tolerance:g}: planes and marginals are "
            "stored in single precision, so that a smaller gap is not told from rounding errors; 0 trains for all "
            "epochs"
        )


def _positive(parameters: Parameters, name: str, largest: float = LARGEST) -> None:
    value = getattr(parameters, name)
    if _number(parameters, name) <= 0:
        raise ValueError(f"solver.{name} must be positive, not {value!r}")
    require_moderate(getattr(parameters, name), f"solver.{name}", largest)


def _not_negative(parameters: Parameters, name: str) -> None:
    value = getattr(parameters, name)
    if _number(parameters, name) < 0:
        raise ValueError(f"solver.{name} must not be negative, not {value!r}")
    require_moderate(getattr(parameters, name), f"solver.{name}")


def _whole(parameters: Parameters, name: str) -> None:
    value = getattr(parameters, name)
    number = _number(parameters, name)
    if number != int(number) or number < 0:
        raise ValueError(f"solver.{name} must be a whole number of at least 0, not {value!r}")
    # An int beyond 2⁵³ is not a float.
    object.__setattr__(parameters, name, int(value) if isinstance(value, int) else int(number))


def _positive_whole(parameters: Parameters, name: str) -> None:
    _whole(parameters, name)
    if getattr(parameters, name) == 0:
        raise ValueError(f"solver.{name} must be positive, not 0")


def _flag(parameters: Parameters, name: str) -> None:
    value = getattr(parameters, name)
    if not isinstance(value, bool):
        raise ValueError(f"solver.{name} must be true or false, not {value!r}")
