"""The working sets of all examples: planes with their dual variables in flat, growable arrays."""

from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from .planes import axpy, dot, squared_norm

NONE = -1
"""No plane: the end of an example's list."""

N_PLANES, N_DROPPED, N_ENTRIES, N_DROPPED_ENTRIES = range(4)
"""Places in `WorkingSet.counts`."""

SPARE_PLANES, SPARE_ENTRIES = 1024, 65536
"""Spare room beyond the room that a caller asks for."""


class WorkingSet(NamedTuple):
    """Planes of n examples; each example's form a linked list, newest first.

    head: int64 [n], the newest plane of each example, or NONE.
    next: int64 [P], the next older plane of the same example, or NONE.
    alpha: float64 [P], dual variables. loss: float64 [P], Δ. norm: float64 [P], ‖ΔΦ‖².
    begin: int64 [P], size: int64 [P]: a plane's entries in indices and values.
    indices: int32 [E], values: float32 [E]: ΔΦ of all planes, indices ascending within a plane.
    counts: int64 [4], at N_PLANES the number of stored planes, at N_DROPPED how many of these are in no list, at
        N_ENTRIES and N_DROPPED_ENTRIES the entries of both.
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
    """Empty working sets with room for so many planes and entries."""
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
    """Let the last examples go, which must have no planes, or give new ones an empty list, in place."""
    known = len(planes.head)
    planes.head.resize(n_examples, refcheck=False)
    planes.head[known:] = NONE


def free_planes(planes: WorkingSet) -> int:
    """How many planes there is room for."""
    return len(planes.next) - int(planes.counts[N_PLANES])


def free_entries(planes: WorkingSet) -> int:
    """How many entries there is room for."""
    return len(planes.indices) - int(planes.counts[N_ENTRIES])


def make_room(planes: WorkingSet, n_planes: int, n_entries: int) -> np.ndarray:
    """Close the gaps that dropped planes have left, then let the arrays grow, all in place.

    There is room afterwards for n_planes more planes of n_entries in all, and for a quarter more than there are
    already. Views of these arrays that were taken before, such as `free_room`, are void.

    Returns the new number of each plane, int64, NONE for those that were dropped.
    """
    place = _close_gaps(planes)
    stored, entries = int(planes.counts[N_PLANES]), int(planes.counts[N_ENTRIES])
    more_planes = max(len(planes.next), stored + stored // 4 + n_planes + SPARE_PLANES)
    _resize(planes, more_planes, max(len(planes.indices), entries + entries // 4 + n_entries + SPARE_ENTRIES))
    return place


def trim(planes: WorkingSet) -> np.ndarray:
    """Release the room that no plane needs, in place. Returns the new number of each plane, as `make_room` does."""
    place = _close_gaps(planes)
    _resize(planes, int(planes.counts[N_PLANES]), int(planes.counts[N_ENTRIES]))
    return place


def _resize(planes: WorkingSet, n_planes: int, n_entries: int) -> None:
    # In place, as a copy would double the memory of the largest arrays in training.
    for of_planes in (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size):
        of_planes.resize(n_planes, refcheck=False)
    for of_entries in (planes.indices, planes.values):
        of_entries.resize(n_entries, refcheck=False)


def count(planes: WorkingSet) -> int:
    """Number of planes in all working sets."""
    return int(planes.counts[N_PLANES] - planes.counts[N_DROPPED])


def check(planes: WorkingSet, n_examples: int, dimension: int) -> None:
    """Check working sets that were read from a file: no kernel may read or write out of bounds or loop for ever.

    Raises:
        ValueError: an array has a wrong length, an index is out of range, or lists of planes meet.
    """
    n_planes, n_dropped, n_entries, n_entries_dropped = (
        map(int, planes.counts) if len(planes.counts) == 4 else (-1,) * 4
    )
    columns = (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size)
    _require(len(planes.head) == n_examples, "has not one list of planes for each example")
    _require(len({*map(len, columns)}) == 1, "has planes without all of their figures")
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
    # No two links lead to one plane, so that every list that starts at a head ends.
    listed, at = 0, planes.head[planes.head != NONE]
    listed_entries = 0
    while len(at):
        listed, listed_entries = listed + len(at), listed_entries + int(planes.size[at].sum())
        at = planes.next[at]
        at = at[at != NONE]
    complete = listed == n_planes - n_dropped and listed_entries == n_entries - n_entries_dropped
    _require(complete, "counts other planes than its lists hold")


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(f"its working set {complaint}")


@kernel
def _close_gaps(planes):
    """Move the planes that are in a list to the front of the arrays; their order there, and in their lists, stays.

    Returns the new number of each plane, int64 [stored planes], NONE for those that were dropped.
    """
    place = np.full(planes.counts[N_PLANES], NONE)
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            place[p] = p
            p = planes.next[p]
    at, to = 0, 0
    for p in range(planes.counts[N_PLANES]):
        if place[p] == NONE:
            continue
        place[p] = at
        older, begin, size = planes.next[p], planes.begin[p], planes.size[p]
        planes.next[at] = NONE if older == NONE else place[older]
        planes.alpha[at] = planes.alpha[p]
        planes.loss[at] = planes.loss[p]
        planes.norm[at] = planes.norm[p]
        planes.begin[at] = to
        planes.size[at] = size
        for entry in range(size):
            planes.indices[to + entry] = planes.indices[begin + entry]
            planes.values[to + entry] = planes.values[begin + entry]
        at += 1
        to += size
    for example in range(len(planes.head)):
        if planes.head[example] != NONE:
            planes.head[example] = place[planes.head[example]]
    planes.counts[:] = 0
    planes.counts[N_PLANES] = at
    planes.counts[N_ENTRIES] = to
    return place


@kernel
def free_room(planes):
    """The indices and values that no plane uses yet, to write a plane there."""
    return planes.indices[planes.counts[N_ENTRIES] :], planes.values[planes.counts[N_ENTRIES] :]


@kernel
def append(planes, example, size, loss, alpha):
    """Put the plane written into `free_room` at the head of the example's list; returns its number.

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
    """Empty the working sets of `examples`; their contribution to w stays."""
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
    """Σ_y α_i(y) / 2C: the ξ_i that belongs to the dual variables of the L2-loss, 0 for C = ∞.

    The derivative of the dual objective in α_i(y) is g_i(y) less this.
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
    """Empty the working sets of `examples` and take their planes out of w = Σ α ΔΦ."""
    for example in examples:
        p = planes.head[example]
        while p != NONE:
            plane_axpy(weights, -planes.alpha[p], planes, p)
            p = planes.next[p]
    forget_all(planes, examples)
