"""The working sets of all examples: planes with their dual variables in flat, growable arrays."""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .planes import axpy, dot, squared_norm

NONE = -1
"""No plane: the end of an example's list."""

N_PLANES, N_DROPPED, N_ENTRIES, N_DROPPED_ENTRIES = range(4)
"""Positions in `WorkingSet.counts`."""

SPARE_PLANES, SPARE_ENTRIES = 1024, 65536
"""Capacity added to what a caller asks for."""


class WorkingSet(NamedTuple):
    """Planes of n examples; the planes of each example form a linked list, newest first.

    head: int64 [n], the newest plane of each example, or NONE.
    next: int64 [P], the next older plane of the same example, or NONE.
    alpha: float64 [P], dual variables. loss: float64 [P], Δ. norm: float64 [P], ‖ΔΦ‖².
    begin: int64 [P], size: int64 [P]: position and number of a plane's entries in indices and values.
    indices: int32 [E], values: float32 [E]: ΔΦ of all planes, indices ascending within a plane.
    counts: int64 [4]: at N_PLANES the number of stored planes, at N_DROPPED the number of those that are in no list; at
        N_ENTRIES and N_DROPPED_ENTRIES the numbers of their entries.
    """

    head: np.ndarray
    next: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    norm: np.ndarray
    begin: np.ndarray
    size: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    counts: np.ndarray


def empty(n_examples: int, planes: int = SPARE_PLANES, entries: int = SPARE_ENTRIES) -> WorkingSet:
    """Empty working sets with capacity for the given numbers of planes and entries."""
    return WorkingSet(
        np.full(n_examples, NONE, np.int64),
        np.full(planes, NONE, np.int64),
        np.zeros(planes),
        np.zeros(planes),
        np.zeros(planes),
        np.zeros(planes, np.int64),
        np.zeros(planes, np.int64),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.float32),
        np.zeros(4, np.int64),
    )


def resize(planes: WorkingSet, n_examples: int) -> None:
    """Change the number of examples in place: new examples get an empty list; dropped ones must have no planes."""
    old_size = len(planes.head)
    planes.head.resize(n_examples, refcheck=False)
    planes.head[old_size:] = NONE


def free_planes(planes: WorkingSet) -> int:
    """The number of planes that can still be stored."""
    return len(planes.next) - int(planes.counts[N_PLANES])


def free_entries(planes: WorkingSet) -> int:
    """The number of entries that can still be stored."""
    return len(planes.indices) - int(planes.counts[N_ENTRIES])


def make_room(planes: WorkingSet, n_planes: int, n_entries: int) -> np.ndarray:
    """Close the gaps that dropped planes have left, then enlarge the arrays as needed, all in place.

    Afterwards there is room for n_planes more planes with n_entries entries in total; arrays that grow also get room
    for a quarter of what is stored. Earlier views of the arrays, such as `free_room`, become invalid.

    Returns the new number of each plane, int64, NONE for dropped planes.
    """
    new_numbers = _close_gaps(planes)
    stored, entries = int(planes.counts[N_PLANES]), int(planes.counts[N_ENTRIES])
    more_planes = max(len(planes.next), stored + stored // 4 + n_planes + SPARE_PLANES)
    _resize(planes, more_planes, max(len(planes.indices), entries + entries // 4 + n_entries + SPARE_ENTRIES))
    return new_numbers


def trim(planes: WorkingSet) -> np.ndarray:
    """Release unused capacity, in place. Returns the new number of each plane, as `make_room` does."""
    new_numbers = _close_gaps(planes)
    _resize(planes, int(planes.counts[N_PLANES]), int(planes.counts[N_ENTRIES]))
    return new_numbers


def _resize(planes: WorkingSet, n_planes: int, n_entries: int) -> None:
    # In place: a copy would double the memory of the largest arrays in training.
    for plane_array in (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size):
        plane_array.resize(n_planes, refcheck=False)
    for entry_array in (planes.indices, planes.values):
        entry_array.resize(n_entries, refcheck=False)


def count(planes: WorkingSet) -> int:
    """Number of planes in all working sets."""
    return int(planes.counts[N_PLANES] - planes.counts[N_DROPPED])


def check(planes: WorkingSet, n_examples: int, dimension: int) -> None:
    """Check working sets that were read from a file, so that no kernel can leave the arrays' bounds or loop for ever.

    Raises:
        ValueError: an array has a wrong length, an index is out of range, or two lists share a plane.
    """
    n_planes, n_dropped, n_entries, n_entries_dropped = (
        map(int, planes.counts) if len(planes.counts) == 4 else (-1,) * 4
    )
    columns = (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size)
    _require(len(planes.head) == n_examples, "does not have one list of planes for each example")
    _require(len({*map(len, columns)}) == 1, "has planes with missing figures")
    _require(0 <= n_dropped <= n_planes <= len(planes.next), "counts more planes than there are")
    _require(len(planes.indices) == len(planes.values), "has entries without a value or an index")
    _require(0 <= n_entries_dropped <= n_entries <= len(planes.indices), "counts more entries than there are")
    following, begin, size = (column[:n_planes] for column in (planes.next, planes.begin, planes.size))
    links = np.concatenate([planes.head, following])
    links = links[links != NONE]
    _require(bool(((links >= 0) & (links < n_planes)).all()), "links to planes that do not exist")
    _require(len(np.unique(links)) == len(links), "has a plane in two lists")
    _require(bool(((begin >= 0) & (size >= 0) & (begin <= n_entries - size)).all()), "has a plane beyond its entries")
    indices = planes.indices[:n_entries]
    _require(bool(((indices >= 0) & (indices < dimension)).all()), "has an index beyond the weights")
    _require(bool((planes.alpha[:n_planes] >= 0).all()), "has a negative dual variable")
    # No two links lead to the same plane, so every list that starts at a head ends.
    listed, current = 0, planes.head[planes.head != NONE]
    listed_entries = 0
    while len(current):
        listed, listed_entries = listed + len(current), listed_entries + int(planes.size[current].sum())
        current = planes.next[current]
        current = current[current != NONE]
    complete = listed == n_planes - n_dropped and listed_entries == n_entries - n_entries_dropped
    _require(complete, "has counts that differ from its lists")


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(f"its working set {complaint}")


@kernel
def _close_gaps(planes):
    """Move the planes that are in a list to the front of the arrays; their order in arrays and lists does not change.

    Returns the new number of each plane, int64 [stored planes], NONE for dropped planes.
    """
    new_numbers = np.full(planes.counts[N_PLANES], NONE)
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            new_numbers[p] = p
            p = planes.next[p]
    to_plane, to_entry = 0, 0
    for p in range(planes.counts[N_PLANES]):
        if new_numbers[p] == NONE:
            continue
        new_numbers[p] = to_plane
        older, begin, size = planes.next[p], planes.begin[p], planes.size[p]
        planes.next[to_plane] = NONE if older == NONE else new_numbers[older]
        planes.alpha[to_plane] = planes.alpha[p]
        planes.loss[to_plane] = planes.loss[p]
        planes.norm[to_plane] = planes.norm[p]
        planes.begin[to_plane] = to_entry
        planes.size[to_plane] = size
        for entry in range(size):
            planes.indices[to_entry + entry] = planes.indices[begin + entry]
            planes.values[to_entry + entry] = planes.values[begin + entry]
        to_plane += 1
        to_entry += size
    for example in range(len(planes.head)):
        if planes.head[example] != NONE:
            planes.head[example] = new_numbers[planes.head[example]]
    planes.counts[:] = 0
    planes.counts[N_PLANES] = to_plane
    planes.counts[N_ENTRIES] = to_entry
    return new_numbers


@kernel
def free_room(planes):
    """Views of the unused part of indices and values, to write a new plane there."""
    return planes.indices[planes.counts[N_ENTRIES] :], planes.values[planes.counts[N_ENTRIES] :]


@kernel
def append(planes, example, size, loss, alpha):
    """Put the plane that was written to `free_room` at the head of the example's list; returns its number.

    `make_room` must have been called before, for all planes that a kernel may append.
    """
    p = planes.counts[N_PLANES]
    begin = planes.counts[N_ENTRIES]
    planes.begin[p] = begin
    planes.size[p] = size
    planes.loss[p] = loss
    planes.norm[p] = squared_norm(planes.values[begin : begin + size], size)
    planes.alpha[p] = alpha
    planes.next[p] = planes.head[example]
    planes.head[example] = p
    planes.counts[N_PLANES] += 1
    planes.counts[N_ENTRIES] += size
    return p


@kernel
def add(planes, example, buffer, size, loss):
    """Put the plane in `buffer` at the head of the example's list, with α = 0; returns its number."""
    indices, values = free_room(planes)
    for k in range(size):
        indices[k] = buffer.indices[k]
        values[k] = buffer.values[k]
    return append(planes, example, size, loss, 0.0)


@kernel
def is_plane(planes, p, buffer, size, loss):
    """Whether plane p equals the one in `buffer`."""
    if planes.size[p] != size or planes.loss[p] != loss:
        return False
    begin = planes.begin[p]
    for k in range(size):
        if planes.indices[begin + k] != buffer.indices[k] or planes.values[begin + k] != np.float32(buffer.values[k]):
            return False
    return True


@kernel
def find(planes, example, buffer, size, loss):
    """The example's plane that equals the one in `buffer`, or NONE."""
    p = planes.head[example]
    while p != NONE and not is_plane(planes, p, buffer, size, loss):
        p = planes.next[p]
    return p


@kernel
def drop_inactive(planes, example):
    """Take the planes with α = 0 out of the example's list."""
    previous = NONE
    p = planes.head[example]
    while p != NONE:
        following = planes.next[p]
        if planes.alpha[p] > 0.0:
            previous = p
        else:
            if previous == NONE:
                planes.head[example] = following
            else:
                planes.next[previous] = following
            planes.counts[N_DROPPED] += 1
            planes.counts[N_DROPPED_ENTRIES] += planes.size[p]
        p = following


@kernel
def forget_all(planes, examples):
    """Empty the working sets of `examples`; w does not change."""
    for example in examples:
        p = planes.head[example]
        while p != NONE:
            planes.alpha[p] = 0.0
            p = planes.next[p]
        drop_inactive(planes, example)


@kernel
def plane_dot(weights, planes, p):
    """wᵀΔΦ of plane p."""
    begin = planes.begin[p]
    return dot(weights, planes.indices[begin:], planes.values[begin:], planes.size[p])


@kernel
def plane_axpy(weights, step, planes, p):
    """w ← w + step · ΔΦ of plane p."""
    begin = planes.begin[p]
    axpy(weights, step, planes.indices[begin:], planes.values[begin:], planes.size[p])


@kernel
def total_alpha(planes, example):
    """Σ_y α_i(y) over the example's working set."""
    total = 0.0
    p = planes.head[example]
    while p != NONE:
        total += planes.alpha[p]
        p = planes.next[p]
    return total


@kernel
def dual_slack(planes, example, C):
    """Σ_y α_i(y) / 2C: the ξ_i that corresponds to the dual variables of the L2-loss; 0 for C = ∞.

    The derivative of the dual objective with respect to α_i(y) is g_i(y) minus this.
    """
    return total_alpha(planes, example) / (2.0 * C)


@kernel
def weighted_sum(planes, weights):
    """weights += Σ α ΔΦ over all planes: the map from the dual variables to w."""
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            plane_axpy(weights, planes.alpha[p], planes, p)
            p = planes.next[p]


@kernel
def dual_sums(planes):
    """Σ αΔ over all planes and Σ_i (Σ_y α_i(y))² over all examples."""
    linear, squares = 0.0, 0.0
    for example in range(len(planes.head)):
        total = 0.0
        p = planes.head[example]
        while p != NONE:
            linear += planes.alpha[p] * planes.loss[p]
            total += planes.alpha[p]
            p = planes.next[p]
        squares += total * total
    return linear, squares


@kernel
def remove_all(planes, examples, weights):
    """Empty the working sets of `examples` and subtract their planes from w = Σ α ΔΦ."""
    for example in examples:
        p = planes.head[example]
        while p != NONE:
            plane_axpy(weights, -planes.alpha[p], planes, p)
            p = planes.next[p]
    forget_all(planes, examples)
