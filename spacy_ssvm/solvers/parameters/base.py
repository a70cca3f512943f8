"""What solvers' parameters share, and how they check what a config says."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What all solvers share.

    seed: of the order in which examples are visited.
    """

    learner: ClassVar[str]
    """module:class of the implementation."""

    seed: int = 0

    def __post_init__(self) -> None:
        store(self, "seed", whole(self, "seed", self.seed))


@dataclass(frozen=True, kw_only=True)
class DualParameters(Parameters):
    """What the solvers with dual variables share.

    C: weight of the loss. tolerance: relative duality gap at which training is complete.
    check_oracle: before each epoch, assert that no plane that is kept is more violated than what the oracles find: one
        more pass, which may tell an oracle that is not exact.
    """

    C: float = 0.1
    tolerance: float = 1e-3
    check_oracle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "C", positive(self, "C", self.C))
        store(self, "tolerance", not_negative(self, "tolerance", self.tolerance))
        flag(self, "check_oracle", self.check_oracle)


@dataclass(frozen=True, kw_only=True)
class TwoLoopParameters(DualParameters):
    """What the solvers with the two-loop heuristic of the LSE-SSVM paper share.

    kappa1: epochs without inner passes (κ₁).
    kappa2: from then on one pass in so many calls the oracles (κ₂, at least 1); the others are inner passes.
    """

    kappa1: int = 10
    kappa2: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "kappa1", whole(self, "kappa1", self.kappa1))
        store(self, "kappa2", int(positive(self, "kappa2", whole(self, "kappa2", self.kappa2))))


def store(parameters: Parameters, name: str, value: float) -> None:
    object.__setattr__(parameters, name, value)


def number(parameters: Parameters, name: str, value: Any) -> float:
    """Configs hand over an int or a str where a float was meant."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"solver.{name} must be a finite number, not {value!r}")
    return found


def positive(parameters: Parameters, name: str, value: Any) -> float:
    found = number(parameters, name, value)
    if found <= 0:
        raise ValueError(f"solver.{name} must be positive, not {value!r}")
    return found


def not_negative(parameters: Parameters, name: str, value: Any) -> float:
    found = number(parameters, name, value)
    if found < 0:
        raise ValueError(f"solver.{name} must not be negative, not {value!r}")
    return found


def flag(parameters: Parameters, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"solver.{name} must be true or false, not {value!r}")


def whole(parameters: Parameters, name: str, value: Any) -> int:
    found = number(parameters, name, value)
    if found != int(found) or found < 0:
        raise ValueError(f"solver.{name} must be a whole number of at least 0, not {value!r}")
    return int(found)
