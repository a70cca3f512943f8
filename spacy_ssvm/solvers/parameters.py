"""The solvers' parameters: what a config says. Importing this module does not import numba."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What all solvers share.

    seed: of the order in which examples are visited.
    """

    learner: ClassVar[str]
    """module:class of the implementation."""

    seed: int = 0

    def __post_init__(self) -> None:
        _store(self, "seed", _whole(self, "seed", self.seed))


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
        _store(self, "C", _positive(self, "C", self.C))


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
        _store(self, "C", _positive(self, "C", self.C))
        if self.eta0 is not None:
            _store(self, "eta0", _positive(self, "eta0", self.eta0))
        if self.schedule not in ("bottou", "printed"):
            raise ValueError(f'solver.schedule must be "bottou" or "printed", not {self.schedule!r}')


@dataclass(frozen=True, kw_only=True)
class DualParameters(Parameters):
    """What the solvers with dual variables share.

    C: weight of the loss. tolerance: relative duality gap at which training is complete.
    """

    C: float = 0.1
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        _store(self, "C", _positive(self, "C", self.C))
        _store(self, "tolerance", _not_negative(self, "tolerance", self.tolerance))


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
        _store(self, "inner_passes", _whole(self, "inner_passes", self.inner_passes))
        _store(self, "delta", _not_negative(self, "delta", self.delta))


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
        _store(self, "rho1", _not_negative(self, "rho1", self.rho1))
        _store(self, "rho2", _positive(self, "rho2", self.rho2))


def dcd_light(*, C: float = 0.1, delta: float = 1e-3, tolerance: float = 1e-3, seed: int = 0) -> Dcd:
    """DCD-Light (Chang & Yih 2013, algorithm 2): dual coordinate descent without inner passes."""
    return Dcd(C=C, inner_passes=0, delta=delta, tolerance=tolerance, seed=seed)


def _store(parameters: Parameters, name: str, value: float) -> None:
    object.__setattr__(parameters, name, value)


def _number(parameters: Parameters, name: str, value: Any) -> float:
    """Configs hand over an int or a str where a float was meant."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"solver.{name} must be a finite number, not {value!r}")
    return number


def _positive(parameters: Parameters, name: str, value: Any) -> float:
    number = _number(parameters, name, value)
    if number <= 0:
        raise ValueError(f"solver.{name} must be positive, not {value!r}")
    return number


def _not_negative(parameters: Parameters, name: str, value: Any) -> float:
    number = _number(parameters, name, value)
    if number < 0:
        raise ValueError(f"solver.{name} must not be negative, not {value!r}")
    return number


def _whole(parameters: Parameters, name: str, value: Any) -> int:
    number = _number(parameters, name, value)
    if number != int(number) or number < 0:
        raise ValueError(f"solver.{name} must be a whole number of at least 0, not {value!r}")
    return int(number)
