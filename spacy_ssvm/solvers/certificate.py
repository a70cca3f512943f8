"""Certificates: primal, dual and gap at one fixed w, and whether a gap is small enough to be done."""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .learner import Certificate, Progress
from .oracle_pass import find_violations
from .problem import Passes, Problem

GAP_ROUNDING = 1e-5
"""A relative gap below −GAP_ROUNDING is not due to rounding; means of planes are kept in single precision."""

GAP_REDUCTION = 0.3
"""The problem over planes found at one w is solved until its gap is this fraction of the gap that they caused."""


class Slacks(NamedTuple):
    """Σ_i ξ_i and Σ_i ξ_i² at one w, ξ_i = max_y g_i(y)."""

    sum: float
    squares: float


def slacks(problem: Problem, weights: np.ndarray, examples: np.ndarray | None = None, n_threads: int = 1) -> Slacks:
    """Call the oracles of all examples, or of the given ones (int64), at w, float64 [d]: one pass."""
    if isinstance(problem.data, Passes):
        return Slacks(*problem.data.slacks(weights))
    numbers = np.arange(problem.n_examples) if examples is None else examples
    positive = np.maximum(find_violations(problem, weights, numbers, n_threads), 0.0).tolist()
    return Slacks(math.fsum(positive), math.fsum(slack * slack for slack in positive))


def objectives(
    C: float, power: int, regulariser: tuple[float, float], slack_sums: Slacks, dual_sums: tuple[float, float]
) -> Certificate:
    """R(w) + C Σ ξ_i^power and its dual, Σ αΔ − R*(Σ α ΔΦ), for power = 2 less Σ_i (Σ_y α_i(y))² / 4C.

    In most solvers R is ½‖w‖², or ½‖w − w₀‖² where training started from earlier weights w₀.

    Args:
        regulariser: R(w), and R*(s) for the dual point s that w belongs to.
        dual_sums: Σ αΔ and Σ_i (Σ_y α_i(y))².
    """
    penalty, conjugate = regulariser
    linear, squares = dual_sums
    primal = penalty + C * (slack_sums.sum if power == 1 else slack_sums.squares)
    return Certificate(primal, float(linear - conjugate - (squares / (4 * C) if power == 2 else 0.0)))


def seems_done(figures: Progress, tolerance: float) -> bool:
    """Whether the running estimate of the gap is within the tolerance, relative to the primal objective."""
    # With a tolerance of 0, which is never reached, the dual may exceed the primal by rounding.
    if figures.primal is None or figures.dual is None or not tolerance:
        return False
    return figures.primal - figures.dual <= tolerance * figures.primal


def is_done(figures: Progress, certificate: Callable[[], Certificate | None], tolerance: float) -> bool:
    """Whether the gap is within the tolerance: the true gap is computed only where its running estimate is.

    Warns, and returns False, if the dual exceeds the primal by more than rounding.
    """
    if not seems_done(figures, tolerance):
        return False
    found = certificate()
    if found is None:
        return False
    if found.relative_gap < -GAP_ROUNDING:
        warnings.warn(
            f"the dual objective, {found.dual:.8g}, exceeds the primal, {found.primal:.8g}: an oracle is not exact, or "
            "the solver's state is damaged; solver.check_oracle = true tests the oracles",
            stacklevel=3,
        )
        return False
    return found.relative_gap <= tolerance
