"""Max-oracles of many examples at one w, in threads, and column generation: violated planes join the working sets.

An example's plane depends on nothing but w, and planes are taken in by the order of the examples: no result depends on
the number of threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, call
from .working_set import NONE, WorkingSet, add, dual_slack, find, plane_dot

PART = 64
"""Examples that a thread takes at a time."""

ROUND = 16 * PART
"""Examples whose planes are held at a time."""


class FoundPlanes(NamedTuple):
    """The planes that the max-oracle has found for m examples at one w.

    slacks: float64 [m], g = Δ − wᵀΔΦ. losses: float64 [m], Δ. starts: int64 [m + 1], first entry of each plane.
    indices: int64 [E], values: float64 [E], ΔΦ of all planes, then unused room.
    """

    slacks: np.ndarray
    losses: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@kernel
def _copy(indices, values, begin, size, new_indices, new_values, place):
    """Copy so many entries, from `begin` on, to `place`; numba compiles loops in a tenth of the time of slices."""
    for k in range(size):
        new_indices[place + k] = indices[begin + k]
        new_values[place + k] = values[begin + k]


@kernel
def _find(oracle, data, examples, weights, plane):
    m = len(examples)
    slacks, losses, starts = np.empty(m), np.empty(m), np.zeros(m + 1, np.int64)
    indices, values = np.empty(1 << 14, np.int64), np.empty(1 << 14)
    for k in range(m):
        size, losses[k] = find_plane(oracle, data, examples[k], weights, 1.0, plane)
        slacks[k] = losses[k] - dot(weights, plane.indices, plane.values, size)
        begin, end = starts[k], starts[k] + size
        if end > len(indices):
            small_indices, small_values = indices, values
            indices, values = np.empty(2 * end, np.int64), np.empty(2 * end)
            _copy(small_indices, small_values, 0, begin, indices, values, 0)
        _copy(plane.indices, plane.values, 0, size, indices, values, begin)
        starts[k + 1] = end
    return FoundPlanes(slacks, losses, starts, indices, values)


def find_all(
    problem: Problem, weights: np.ndarray, examples: np.ndarray, n_threads: int = 1
) -> Iterator[tuple[np.ndarray, FoundPlanes]]:
    """Call the max-oracle of these examples, int64, at w, float64 [d]; yields parts of them in order, and their planes.

    w has to stay as it is until the last part.
    """

    def find(part: np.ndarray) -> FoundPlanes:
        found: FoundPlanes = call(_find, problem, part, weights, plane_buffer(problem.max_plane_entries))
        return found

    for first in range(0, len(examples), ROUND):
        parts = [examples[k : k + PART] for k in range(first, min(first + ROUND, len(examples)), PART)]
        yield from zip(parts, in_threads(n_threads, find, parts))


@kernel
def _add_if_new(example, planes, plane, size, loss):
    if find(planes, example, plane, size, loss) == NONE:
        add(planes, example, plane, size, loss)


@kernel
def add_slack(sums, g):
    """Count ξ = max(0, g) of one visit: Σ ξ in sums[0], Σ ξ² in sums[1]."""
    slack = max(0.0, g)
    sums[0] += slack
    sums[1] += slack**2


@kernel
def add_if_violated(oracle, data, example, weights, dual_slack, delta, sums, planes, plane):
    """Call the max-oracle; a new plane with g − dual_slack > delta joins the working set. Counts ξ in `sums`."""
    size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
    g = loss - dot(weights, plane.indices, plane.values, size)
    if g - dual_slack > delta:
        _add_if_new(example, planes, plane, size, loss)
    add_slack(sums, g)


@kernel
def collect(examples, found, C, delta, sums, planes, plane):
    """Let the planes found of these examples join their working sets, as `add_if_violated` does.

    C: of the L2-loss, ∞ without it. plane: a buffer.
    """
    for k in range(len(examples)):
        if found.slacks[k] - dual_slack(planes, examples[k], C) > delta:
            size = found.starts[k + 1] - found.starts[k]
            _copy(found.indices, found.values, found.starts[k], size, plane.indices, plane.values, 0)
            _add_if_new(examples[k], planes, plane, size, found.losses[k])
        add_slack(sums, found.slacks[k])


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
