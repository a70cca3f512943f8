"""Whether max-oracles are exact: no plane that has been found before may beat what they find now."""

import numpy as np

from ..kernels import kernel
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, call
from .working_set import NONE, WorkingSet, plane_dot

ROUNDING = 1e-5
"""Planes are kept in single precision, so that a mean of planes may seem to beat what it is the mean of."""


@kernel
def _first_beaten(oracle, data, examples, weights, rounding, planes, plane):
    """The first example with a plane of larger g than its oracle finds, or NONE; and both g."""
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        found = loss - dot(weights, plane.indices, plane.values, size)
        p = planes.head[example]
        while p != NONE:
            known = planes.loss[p] - plane_dot(weights, planes, p)
            if known > found + rounding * max(1.0, abs(found), planes.loss[p]):
                return example, found, known
            p = planes.next[p]
    return NONE, 0.0, 0.0


def assert_unbeaten(problem: Problem, weights: np.ndarray, planes: WorkingSet) -> None:
    """Call all oracles at w, float64 [d], and compare with the planes of the working sets.

    Raises:
        AssertionError: an oracle has found less than what is known.
    """
    buffer = plane_buffer(problem.largest_plane)
    example, found, known = call(
        _first_beaten, problem, np.arange(problem.n_examples), weights, ROUNDING, planes, buffer
    )
    if example != NONE:
        raise AssertionError(beaten(f"the oracle of example {example:,}", found, known))


def beaten(oracle: str, found: float, known: float) -> str:
    """What to say of an oracle that finds g = found where g = known was possible."""
    return (
        f"solver.check_oracle: {oracle} finds a violation of {found:.6g}, but a plane that is known has {known:.6g}: "
        "decoding is not exact with this model, so that objectives and gaps are not to be trusted"
    )
