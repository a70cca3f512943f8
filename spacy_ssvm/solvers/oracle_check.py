"""A check that max-oracles are exact: no plane found earlier may beat the plane that they find now."""

import numpy as np

from ..kernels import kernel
from .oracle_pass import find_all
from .problem import Problem
from .working_set import NONE, WorkingSet, plane_dot

ROUNDING = 1e-5
"""Planes are kept in single precision, so that a mean of planes may seem to beat every one of them."""


@kernel
def _first_beaten(examples, slacks, weights, rounding, planes):
    """The first example with a plane whose g is larger than that of its oracle (slacks), or NONE; and both g."""
    for example, found in zip(examples, slacks):
        p = planes.head[example]
        while p != NONE:
            known = planes.loss[p] - plane_dot(weights, planes, p)
            if known > found + rounding * max(1.0, abs(found), planes.loss[p]):
                return example, found, known
            p = planes.next[p]
    return NONE, 0.0, 0.0


def assert_unbeaten(problem: Problem, weights: np.ndarray, planes: WorkingSet, n_threads: int = 1) -> None:
    """Call all oracles at w, float64 [d], and compare with the planes of the working sets.

    Raises:
        AssertionError: an oracle finds a smaller violation than a plane that is kept.
    """
    for part, planes_found in find_all(problem, weights, np.arange(problem.n_examples), n_threads):
        example, found, known = _first_beaten(part, planes_found.slacks, weights, ROUNDING, planes)
        if example != NONE:
            raise AssertionError(beaten(f"the oracle of example {example:,}", found, known))


def beaten(oracle: str, found: float, known: float) -> str:
    """The message about an oracle that finds g = found where a plane with g = known is kept."""
    return (
        f"solver.check_oracle: {oracle} finds a violation of {found:.6g}, but a plane that is known has {known:.6g}: "
        "decoding is not exact with this model, so that objectives and gaps are not to be trusted"
    )
