"""A plane: one structure as the learner sees it, a sparse vector ΔΦ and a loss Δ."""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel


class PlaneBuffer(NamedTuple):
    """A buffer that oracles write a plane into.

    Attributes:
        indices: int64 [m], coordinates of ΔΦ.
        values: float64 [m].
        order: int64 [m] and scratch: float64 [m], used to sort the entries.
    """

    indices: np.ndarray
    values: np.ndarray
    order: np.ndarray
    scratch: np.ndarray


def plane_buffer(capacity: int) -> PlaneBuffer:
    """A buffer for a plane of up to `capacity` entries."""
    size = max(capacity, 1)
    return PlaneBuffer(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size))


class KBestBuffer(NamedTuple):
    """A buffer for the planes of the k best structures that `find_planes` finds, best first.

    Attributes:
        starts: int64 [k + 1], sizes: int64 [k]: plane j has sizes[j] entries in indices and values, from starts[j] on.
        losses: float64 [k], Δ.
        indices: int64 [k · m].
        values: float64 [k · m].
    """

    starts: np.ndarray
    sizes: np.ndarray
    losses: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@kernel
def kbest_buffer(k, capacity):
    """A buffer for k planes of up to `capacity` entries each, counted before equal indices are merged."""
    return KBestBuffer(
        np.zeros(k + 1, np.int64),
        np.zeros(k, np.int64),
        np.zeros(k),
        np.empty(k * capacity, np.int64),
        np.empty(k * capacity),
    )


@kernel
def dot(weights, indices, values, size):
    """wᵀΔΦ of a plane of `size` entries."""
    total = 0.0
    for k in range(size):
        total += weights[indices[k]] * values[k]
    return total


@kernel
def axpy(weights, step, indices, values, size):
    """w ← w + step · ΔΦ."""
    for k in range(size):
        weights[indices[k]] += step * values[k]


@kernel
def shell_sort(keys):
    """Sort in place, ascending, by Shell's method with Knuth's gaps.

    For the few hundred keys of a plane this is as fast as numba's `sort`, which adds more than a second to the
    compilation of every kernel that calls it, directly or indirectly.
    """
    gap = 1
    while gap < len(keys) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, len(keys)):
            key, place = keys[k], k
            while place >= gap and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                place -= gap
            keys[place] = key
        gap //= 3


DIGIT_BITS = 8
"""Bits of an index that a pass of `_radix_sort` sorts by."""

MIN_RADIX = 64
"""Keys that are worth the counting of digits."""


@kernel
def _radix_sort(keys, size, largest, spare):
    """Sort keys[:size] in place by their bits above the lowest 32, stably.

    Args:
        keys, spare: int64 [≥ size].
        largest: an upper bound of these bits as a number.
    """
    counts, source, target = np.empty(1 << DIGIT_BITS, np.int64), keys, spare
    shift = 32
    while largest > 0:
        counts[:] = 0
        for k in range(size):
            counts[(source[k] >> shift) & ((1 << DIGIT_BITS) - 1)] += 1
        place = 0
        for digit in range(1 << DIGIT_BITS):
            counts[digit], place = place, place + counts[digit]
        for k in range(size):
            digit = (source[k] >> shift) & ((1 << DIGIT_BITS) - 1)
            target[counts[digit]] = source[k]
            counts[digit] += 1
        source, target = target, source
        largest >>= DIGIT_BITS
        shift += DIGIT_BITS
    if (shift - 32) // DIGIT_BITS % 2:
        for k in range(size):
            keys[k] = spare[k]


@kernel
def merge(plane, entries):
    """Sort a plane's entries by index, add up equal indices, and drop zeros. Returns the number of entries left."""
    order, largest = plane.order, 0
    for k in range(entries):
        largest = max(largest, plane.indices[k])
        order[k] = (plane.indices[k] << 32) | k
        plane.scratch[k] = plane.values[k]
    if entries < MIN_RADIX:
        shell_sort(order[:entries])
    else:
        _radix_sort(order, entries, largest, plane.indices)
    kept = 0
    k = 0
    while k < entries:
        index = order[k] >> 32
        value = 0.0
        while k < entries and order[k] >> 32 == index:
            value += plane.scratch[order[k] & 0xFFFFFFFF]
            k += 1
        if value != 0.0:
            plane.indices[kept] = index
            plane.values[kept] = value
            kept += 1
    return kept


@kernel
def squared_norm(values, size):
    """‖ΔΦ‖² of a merged plane."""
    total = 0.0
    for k in range(size):
        total += values[k] * values[k]
    return total


@kernel
def find_plane(oracle, data, example, weights, loss_scale, plane):
    """Call the max-oracle and merge its entries. Returns the plane's size and loss."""
    entries, loss = oracle(data, example, weights, loss_scale, plane.indices, plane.values)
    return merge(plane, entries), loss


@kernel
def find_planes(oracle, data, example, weights, loss_scale, k, best, plane):
    """Call the k-best oracle and merge the entries of each plane; `plane` is scratch. Returns the number of planes."""
    n_planes = oracle(data, example, weights, loss_scale, k, best.starts, best.losses, best.indices, best.values)
    for j in range(n_planes):
        begin, entries = best.starts[j], best.starts[j + 1] - best.starts[j]
        for entry in range(entries):
            plane.indices[entry] = best.indices[begin + entry]
            plane.values[entry] = best.values[begin + entry]
        size = merge(plane, entries)
        for entry in range(size):
            best.indices[begin + entry] = plane.indices[entry]
            best.values[begin + entry] = plane.values[entry]
        best.sizes[j] = size
    return n_planes


@kernel
def take_plane(best, j, plane):
    """Copy the j-th best plane into `plane`. Returns its size and loss."""
    begin, size = best.starts[j], best.sizes[j]
    for entry in range(size):
        plane.indices[entry] = best.indices[begin + entry]
        plane.values[entry] = best.values[begin + entry]
    return size, best.losses[j]


@kernel
def plane_product(best, j, plane, size):
    """ΔΦᵀΔΦ′ of the j-th best plane and the plane in `plane`, both merged."""
    total, k = 0.0, 0
    begin = best.starts[j]
    for entry in range(begin, begin + best.sizes[j]):
        while k < size and plane.indices[k] < best.indices[entry]:
            k += 1
        if k < size and plane.indices[k] == best.indices[entry]:
            total += plane.values[k] * best.values[entry]
    return total
