"""Max-oracles of many examples at one w, in threads, and column generation: violated planes join the working sets.

An example's plane depends only on w, and planes are added in the order of the examples, so no result depends on the
number of threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..threads import in_threads, worked_ahead
from .planes import dot, find_plane, plane_buffer
from .problem import Problem, call
from .working_set import NO_PLANE, WorkingSet, add, dual_slack, find, plane_dot

PART = 64
"""Number of examples that a thread processes at a time where their planes are kept."""

PART_WITHOUT_PLANES = 256
"""Number of examples that a thread processes at a time where planes are not kept.

Calling a kernel takes as long as the oracles of some ten sentences, and is serial.
"""

AHEAD = 16
"""Number of parts whose planes are in memory at a time."""


class FoundPlanes(NamedTuple):
    """The planes that the max-oracle has found for m examples at one w.

    Attributes:
        violations: float64 [m], g = Δ − wᵀΔΦ.
        losses: float64 [m], Δ.
        starts: int64 [m + 1], first entry of each plane.
        indices: int64 [E], values: float64 [E], ΔΦ of all planes, then unused capacity.
    """

    violations: np.ndarray
    losses: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@kernel
def _copy(indices, values, begin, size, new_indices, new_values, place):
    """Copy `size` entries, from `begin` on, to `place`; numba compiles a loop ten times faster than slices."""
    for k in range(size):
        new_indices[place + k] = indices[begin + k]
        new_values[place + k] = values[begin + k]


@kernel
def _find(oracle, data, examples, weights, plane):
    m = len(examples)
    violations, losses, starts = np.empty(m), np.empty(m), np.zeros(m + 1, np.int64)
    indices, values = np.empty(1 << 14, np.int64), np.empty(1 << 14)
    for k in range(m):
        size, losses[k] = find_plane(oracle, data, examples[k], weights, 1.0, plane)
        violations[k] = losses[k] - dot(weights, plane.indices, plane.values, size)
        begin, end = starts[k], starts[k] + size
        if end > len(indices):
            small_indices, small_values = indices, values
            indices, values = np.empty(2 * end, np.int64), np.empty(2 * end)
            _copy(small_indices, small_values, 0, begin, indices, values, 0)
        _copy(plane.indices, plane.values, 0, size, indices, values, begin)
        starts[k + 1] = end
    return FoundPlanes(violations, losses, starts, indices, values)


def find_all(
    problem: Problem, weights: np.ndarray, examples: np.ndarray, n_threads: int = 1
) -> Iterator[tuple[np.ndarray, FoundPlanes]]:
    """Call the max-oracle of the given examples, int64, at w, float64 [d].

    Yields consecutive parts of the examples with their planes. w must not change before the last part.
    """

    def find(part: np.ndarray) -> FoundPlanes:
        planes: FoundPlanes = call(_find, problem, part, weights, plane_buffer(problem.max_plane_entries))
        return planes

    parts = _parts(examples, PART)
    yield from zip(parts, worked_ahead(n_threads if problem.n_named is None else 1, find, parts, AHEAD))


def _parts(examples: np.ndarray, size: int) -> list[np.ndarray]:
    return [examples[first : first + size] for first in range(0, len(examples), size)]


@kernel
def _violations(oracle, data, examples, weights, plane):
    violations = np.empty(len(examples))
    for k in range(len(examples)):
        entries, loss = oracle(data, examples[k], weights, 1.0, plane.indices, plane.values)
        violations[k] = loss - dot(weights, plane.indices, plane.values, entries)
    return violations


def find_violations(problem: Problem, weights: np.ndarray, examples: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Call the max-oracle of the given examples, int64 [m], at w, float64 [d]: g, float64 [m], without planes."""

    def find(part: np.ndarray) -> np.ndarray:
        g: np.ndarray = call(_violations, problem, part, weights, plane_buffer(problem.max_plane_entries))
        return g

    parts = in_threads(n_threads if problem.n_named is None else 1, find, _parts(examples, PART_WITHOUT_PLANES))
    return np.concatenate([np.zeros(0), *parts])


@kernel
def _add_if_new(example, planes, plane, size, loss):
    if find(planes, example, plane, size, loss) == NO_PLANE:
        add(planes, example, plane, size, loss)


@kernel
def add_slack(sums, g):
    """Add ξ = max(0, g) of one visit to sums[0], and ξ² to sums[1]."""
    slack = max(0.0, g)
    sums[0] += slack
    sums[1] += slack**2


@kernel
def add_if_violated(oracle, data, example, weights, dual_slack, delta, sums, planes, plane):
    """Call the max-oracle; a new plane with g − dual_slack > delta joins the working set. Adds ξ to `sums`.

    Returns g.
    """
    size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
    g = loss - dot(weights, plane.indices, plane.values, size)
    if g - dual_slack > delta:
        _add_if_new(example, planes, plane, size, loss)
    add_slack(sums, g)
    return g


@kernel
def collect(examples, planes, C, delta, sums, working_sets, plane):
    """Add the planes found for these examples to their working sets, under the condition of `add_if_violated`.

    Args:
        C: of the L2-loss; ∞ with the L1-loss.
        plane: a buffer.
    """
    for k in range(len(examples)):
        if planes.violations[k] - dual_slack(working_sets, examples[k], C) > delta:
            size = planes.starts[k + 1] - planes.starts[k]
            _copy(planes.indices, planes.values, planes.starts[k], size, plane.indices, plane.values, 0)
            _add_if_new(examples[k], working_sets, plane, size, planes.losses[k])
        add_slack(sums, planes.violations[k])


SINGLE_PRECISION = 1e-5
"""Relative tolerance when violations are compared: planes are stored in single precision, and so may seem larger."""


@kernel
def _first_exceeded(examples, violations, weights, tolerance, unit, planes):
    """The first example with a stored plane whose g exceeds that of its oracle (violations); −1 without one.

    Returns the example, the g of its oracle, and the g of the plane.
    """
    for example, by_oracle in zip(examples, violations):
        p = planes.head[example]
        while p != NO_PLANE:
            stored = planes.loss[p] - plane_dot(weights, planes, p)
            if stored > by_oracle + tolerance * max(unit, abs(by_oracle), planes.loss[p]):
                return example, by_oracle, stored
            p = planes.next[p]
    return -1, 0.0, 0.0


def assert_oracles_are_maximal(problem: Problem, weights: np.ndarray, planes: WorkingSet, n_threads: int = 1) -> None:
    """Call all oracles at w, float64 [d], and compare their violations with the stored planes' violations.

    Raises:
        AssertionError: an oracle finds a smaller violation than a stored plane has.
    """
    for part, found_planes in find_all(problem, weights, np.arange(problem.n_examples), n_threads):
        example, by_oracle, stored = _first_exceeded(
            part, found_planes.violations, weights, SINGLE_PRECISION, problem.unit, planes
        )
        if example >= 0:
            raise AssertionError(oracle_failure(f"the oracle of example {example:,}", by_oracle, stored))


def oracle_failure(oracle: str, by_oracle: float, stored: float) -> str:
    """The message about an oracle whose g = by_oracle is below the g = stored of a plane in a working set."""
    return (
        f"solver.check_oracle: {oracle} finds a violation of {by_oracle:.6g}, but a plane that is known has "
        f"{stored:.6g}: decoding is not exact with this model, so that objectives and gaps are not to be trusted"
    )
