"""What the scores of a component mean: probabilities where its solver learns a distribution, margins elsewhere."""

import math
import operator
from typing import Any, SupportsIndex

from ..solvers.parameters import LossFamily, Parameters

MIN_PROBABILITY = 0.01
"""What is less probable is not listed, unless it is asked for."""

CALIBRATED = "inverse_temperature"
"""What the cfg of a calibrated component names its β."""


def inverse_temperature(solver: Parameters) -> float | None:
    """β of P(y) ∝ exp(β · wᵀΦ(x, y)), whose likelihood the solver maximises; None for a solver without one."""
    return float(solver.beta) if isinstance(solver, LossFamily) and solver.is_smooth else None


def check_calibration(cfg: dict[str, Any]) -> None:
    """Raise a ValueError where a cfg has a β that is none."""
    beta = cfg.get(CALIBRATED, 1.0)
    if type(beta) is not float or not 0.0 < beta < math.inf:
        raise ValueError(f"its cfg has the inverse temperature {beta!r}, which must be a finite number above 0")


def checked_min_score(
    name: str, min_score: float | None, is_probability: bool, parameter: str = "the least score to list"
) -> float:
    """The least score to list, `min_score` or what stands in for it: MIN_PROBABILITY, or a margin of 0.

    Raises:
        ValueError: it is no number, or a probability that is not between 0 and 1; all that is possible is too much.
    """
    if min_score is None:
        return MIN_PROBABILITY if is_probability else 0.0
    if math.isnan(min_score) or (is_probability and not 0.0 < min_score <= 1.0):
        wanted = "a probability above 0, at most 1" if is_probability else "a margin"
        raise ValueError(f"[{name}] {parameter} must be {wanted}, not {min_score!r}")
    return float(min_score)


def checked_count(name: str, count: SupportsIndex, parameter: str = "k") -> int:
    """How much to list, as this parameter says.

    Raises:
        ValueError: it is no whole number from 1 on.
    """
    try:
        checked = operator.index(count)
    except TypeError:
        checked = 0
    if checked < 1:
        raise ValueError(f"[{name}] {parameter} must be a whole number of at least 1, not {count!r}")
    return checked
