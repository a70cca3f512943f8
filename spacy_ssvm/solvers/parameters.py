"""Base classes of the parameters of all solvers, and of families of solvers; each solver's own are in its file."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .penalty import Penalty

if TYPE_CHECKING:
    from typing_extensions import Self


SMALLEST, LARGEST = 1e-30, 1e15
"""The limits of parameters and costs: products and squares of a few of them are floats with many digits, and resulting
scores are far from FORBIDDEN."""

LARGEST_BETA = 1e30
"""The limit of β, which only multiplies differences of scores inside a log-sum-exp: far below it, β is as good as ∞."""


def _number(parameters: Any, name: str) -> float:
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


def require_tolerance(parameters: Any, name: str) -> None:
    """Check that the tolerance is 0, or a number of at least `min_tolerance`, or raise a ValueError."""
    tolerance, smallest = _number(parameters, name), parameters.min_tolerance
    if tolerance < 0:
        raise ValueError(f"solver.{name} must not be negative, not {tolerance!r}")
    if 0 < tolerance < smallest:
        raise ValueError(
            f"solver.{name} must be at least {smallest:g}, not {tolerance:g}: planes and marginals are "
            "stored in single precision, so that a smaller gap is not told from rounding errors; 0 trains for all "
            "epochs"
        )


def require_positive(parameters: Any, name: str, largest: float = LARGEST) -> None:
    """Check that a parameter is positive and moderate, and store it as a float, or raise a ValueError."""
    value = getattr(parameters, name)
    if _number(parameters, name) <= 0:
        raise ValueError(f"solver.{name} must be positive, not {value!r}")
    require_moderate(getattr(parameters, name), f"solver.{name}", largest)


def require_not_negative(parameters: Any, name: str) -> None:
    """Check that a parameter is 0, or positive and moderate, and store it as a float, or raise a ValueError."""
    value = getattr(parameters, name)
    if _number(parameters, name) < 0:
        raise ValueError(f"solver.{name} must not be negative, not {value!r}")
    require_moderate(getattr(parameters, name), f"solver.{name}")


def require_whole(parameters: Any, name: str) -> None:
    """Check that a parameter is a whole number of at least 0, and store it as an int, or raise a ValueError."""
    value = getattr(parameters, name)
    number = _number(parameters, name)
    if number != int(number) or number < 0:
        raise ValueError(f"solver.{name} must be a whole number of at least 0, not {value!r}")
    # An int beyond 2⁵³ is not a float.
    object.__setattr__(parameters, name, int(value) if isinstance(value, int) else int(number))


def require_positive_whole(parameters: Any, name: str) -> None:
    """Check that a parameter is a whole number of at least 1, and store it as an int, or raise a ValueError."""
    require_whole(parameters, name)
    if getattr(parameters, name) == 0:
        raise ValueError(f"solver.{name} must be positive, not 0")


def require_flag(parameters: Any, name: str) -> None:
    """Check that a parameter is true or false, or raise a ValueError."""
    value = getattr(parameters, name)
    if not isinstance(value, bool):
        raise ValueError(f"solver.{name} must be true or false, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of all solvers.

    Attributes:
        seed: of the order in which examples are visited; None: the seed of the pipeline's training, or 0.
    """

    rule: ClassVar[str | None] = None
    """The rule by which several workers learn, a name in `distributed.rules.RULES`; None where they do not."""
    corrects: ClassVar[bool] = False
    """Whether a loaded component is corrected: features that no example has keep their weights, and partial gold is
    completed once, by the initial weights, and then learnt as if all of it were annotated. Otherwise partial gold is
    completed before each epoch."""

    CHECKS: ClassVar[dict[str, Callable[[Any, str], None]]] = {}
    """Checks of the parameters that a class adds, by name; they raise a ValueError, or store the value in its type."""

    learner: ClassVar[type[Any]]
    """The class of the learners with these parameters, a `learner.Learner`, which names them as its `of`."""

    seed: int | None = None

    @property
    def adds_planes_only(self) -> bool:
        """Whether w starts at zero and is moved by planes of the max-oracle only, so that most weights are never used.

        Such weights are numbered by their use, which makes steps faster where there are many labels.
        """
        return False

    @property
    def inverse_temperature(self) -> float | None:
        """β of the distribution P(y) ∝ exp(β · wᵀΦ(x, y)) that the solver learns; None for a solver without one."""
        return None

    def __post_init__(self) -> None:
        if self.seed is not None:
            require_whole(self, "seed")
        for kind in reversed(type(self).__mro__):
            for name, check in vars(kind).get("CHECKS", {}).items():
                check(self, name)

    def seeded(self, seed: int) -> "Self":
        """Parameters with this seed, if they have none."""
        return replace(self, seed=seed) if self.seed is None else self

    def generator(self) -> np.random.Generator:
        """Random numbers by the seed, or by 0 without one."""
        return np.random.default_rng(self.seed or 0)


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

    power: ClassVar[Literal[1, 2]] = 1
    """The power of the slacks: 1 for the L1-loss, 2 for the L2-loss."""

    CHECKS = {"C": require_positive, "tolerance": require_tolerance, "check_oracle": require_flag}

    C: float = 0.1
    tolerance: float = 1e-3
    check_oracle: bool = False

    @property
    def penalty(self) -> Penalty:
        """Ω in the objective Ω(w) + C Σ ξ_i^power."""
        return Penalty()


@dataclass(frozen=True, kw_only=True)
class TwoLoopParameters(DualParameters):
    """The parameters that the solvers with the two-loop heuristic of the LSE-SSVM paper share.

    Attributes:
        kappa1: number of initial epochs without inner passes (κ₁).
        kappa2: afterwards, one pass in κ₂ (at least 1) calls the oracles; the others are inner passes.
    """

    CHECKS = {"kappa1": require_whole, "kappa2": require_positive_whole}

    kappa1: int = 10
    kappa2: int = 5


@dataclass(frozen=True, kw_only=True)
class LossFamily(Parameters):
    """The parameters of the solvers for L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))).

    Martins et al. 2010, equation 3. (β, γ) = (1, 0) is the CRF's loss, (1, 1) softmax-margin, (∞, 1) the structured
    SVM's. (∞, 0), the perceptron's, is refused: its regularised optimum is w = 0.

    Attributes:
        C: weight of the loss.
        beta: β, positive, or "inf": then log-sum-exp is a maximum, and the model need not offer exact marginals.
        gamma: γ, weight of the loss Δ within L, at least 0.
    """

    CHECKS = {"C": require_positive, "gamma": require_not_negative}

    C: float = 0.1
    beta: float | Literal["inf"] = "inf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if str(self.beta) == "inf":
            object.__setattr__(self, "beta", math.inf)
        else:
            require_positive(self, "beta", LARGEST_BETA)
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
    def inverse_temperature(self) -> float | None:
        return float(self.beta) if self.is_smooth else None

    @property
    def oracle(self) -> Literal["max", "cliques"]:
        """The oracle that evaluates L and its gradient."""
        return "cliques" if self.is_smooth else "max"
