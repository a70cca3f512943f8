"""Max-oracles of many examples at one w, in threads, and column generation: violated planes join the working sets.

An example's plane depends on nothing but w, and planes are taken in by the order of the examples: no result depends on
the number of threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads
from .dual_variables import total_alpha
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, call
from .working_set import NONE, add, find, has_room

PART = 64
"""Examples that a thread takes at a time."""

ROUND = 16 * PART
"""Examples whose planes are held at a time."""


class FoundPlanes(NamedTuple):
    """The planes that the max-oracle has found of m examples at one w.

    slacks: float64 [m], g = Δ − wᵀΔΦ. losses: float64 [m], Δ. starts: int64 [m + 1], first entry of each plane.
    indices: int64 [E], values: float64 [E], ΔΦ of all planes, and room behind them.
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


def find_all(problem: Problem, weights: np.ndarray, examples: np.ndarray) -> Iterator[tuple[np.ndarray, FoundPlanes]]:
    """The planes of these examples, int64, at w, float64 [d]: parts of the examples, in order, with what is found.

    w has to stay as it is until the last part.
    """

    def find(part: np.ndarray) -> FoundPlanes:
        found: FoundPlanes = call(_find, problem.apart(), part, weights, plane_buffer(problem.max_plane_entries))
        return found

    for first in range(0, len(examples), ROUND):
        parts = [examples[k : k + PART] for k in range(first, min(first + ROUND, len(examples)), PART)]
        yield from zip(parts, in_threads(problem.n_threads, find, parts))


@kernel
def _keep(example, slack, relief, delta, planes, plane, size, loss):
    """Put the plane in `plane` into the working set if it is new and violated; False if there was no room."""
    if slack - relief > delta and find(planes, example, plane, size, loss) == NONE:
        if not has_room(planes, size):
            return False
        add(planes, example, plane, size, loss)
    return True


@kernel
def enter(oracle, data, example, weights, relief, delta, planes, plane):
    """Call the max-oracle; a plane violated by more than `delta`, less `relief`, joins the working set if it is new.

    Returns g of that plane, and False if there was no room.
    """
    size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
    slack = loss - dot(weights, plane.indices, plane.values, size)
    return slack, _keep(example, slack, relief, delta, planes, plane, size, loss)


@kernel
def tax(planes, example, C):
    """Σ_y α_i(y) / 2C: what the squared slack takes off each violation in the dual's derivative."""
    return total_alpha(planes, example) / (2.0 * C)


@kernel
def collect(examples, found, k, C, delta, total, squares, planes, plane):
    """Let what has been found of the examples from the k-th on join their working sets, as `enter` does.

    C: of the L2-loss, ∞ without it. plane: a buffer. Stops where the working set is full; returns how many of the
    examples are done, and Σ ξ and Σ ξ² added to total and squares.
    """
    while k < len(examples):
        size = found.starts[k + 1] - found.starts[k]
        _copy(found.indices, found.values, found.starts[k], size, plane.indices, plane.values, 0)
        relief, slack = tax(planes, examples[k], C), found.slacks[k]
        if not _keep(examples[k], slack, relief, delta, planes, plane, size, found.losses[k]):
            break
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
        k += 1
    return k, total, squares
