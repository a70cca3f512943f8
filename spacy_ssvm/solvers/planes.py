"""A plane: one structure seen from the learner's side, a sparse ΔΦ."""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel


class PlaneBuffer(NamedTuple):
    """The plane that an oracle has just written.

    indices: int64 [m], coordinates of ΔΦ; values: float64 [m]; order: int64 [m] and
    scratch: float64 [m], to sort them.
    """

    indices: np.ndarray
    values: np.ndarray
    order: np.ndarray
    scratch: np.ndarray


def plane_buffer(capacity: int) -> PlaneBuffer:
    """Room for a plane of `capacity` entries."""
    size = max(capacity, 1)
    return PlaneBuffer(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size))


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
def merge(plane, entries):
    """Sort a plane's entries by index, add up those of equal index, drop zeros; returns how many remain."""
    order = plane.order[:entries]
    for k in range(entries):
        order[k] = (plane.indices[k] << 32) | k
    order.sort()
    plane.scratch[:entries] = plane.values[:entries]
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
    """Call the max-oracle and merge what it wrote. Returns the plane's size and loss."""
    entries, loss = oracle(data, example, weights, loss_scale, plane.indices, plane.values)
    return merge(plane, entries), loss
