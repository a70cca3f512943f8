"""The working sets of all examples: planes with their dual variables in flat, growable arrays.

Planes take most of the memory of training, so ΔΦ is stored in codes of 16 bits, a little more than one for an entry.
The low two bits of a code are its kind: PLUS_ONE and MINUS_ONE are an entry of this value, OTHER an entry whose value,
in single precision, is in the next two codes, and SKIP is no entry. The other bits are the distance of the entry's
index from the one before; a SKIP adds 2^GAP_BITS times its bits to that.
"""

from typing import NamedTuple

import numpy as np

from ..growth import appended
from ..kernels import kernel
from .state import Field, Sizes

PLANES = Field("planes", check=lambda planes, sizes: check(planes, sizes))
"""The field of working sets in a learner's state; `trim` has to be called first."""

NO_PLANE = -1
"""No plane: the end of an example's list."""

N_PLANES, N_DROPPED, N_CODES, N_DROPPED_CODES = range(4)
"""Positions in `WorkingSet.counts`."""

PLUS_ONE, MINUS_ONE, OTHER, SKIP = range(4)
"""The kinds of codes."""

GAP_BITS = 14
"""Bits of a code that are not its kind."""

CODES_OF_ENTRY, CODES_OF_PLANE = 4, 1 << 31 >> 2 * GAP_BITS
"""Upper bounds of the number of codes: an entry may need a SKIP and a value; only gaps of 2^28 need further ones."""

SPARE_PLANES, SPARE_CODES = 1024, 65536
"""Capacity added to the requested one."""

GROWTH = 16
"""Growing arrays get 1/GROWTH of their size as extra room; they grow in place where the system can."""


class WorkingSet(NamedTuple):
    """Planes of n examples; the planes of each example form a linked list, newest first.

    head: int64 [n], the newest plane of each example, or NO_PLANE.
    next: int64 [P], the next older plane of the same example, or NO_PLANE.
    alpha: float64 [P], dual variables. loss: float64 [P], Δ. norm: float64 [P], ‖ΔΦ‖².
    begin: int64 [P], size: int64 [P]: position and number of a plane's codes.
    codes: uint16 [E], ΔΦ of all planes, indices ascending within a plane.
    counts: int64 [4]: at N_PLANES the number of stored planes, at N_DROPPED the number of planes in no list; at N_CODES
        and N_DROPPED_CODES the numbers of their codes.
    """

    head: np.ndarray
    next: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    norm: np.ndarray
    begin: np.ndarray
    size: np.ndarray
    codes: np.ndarray
    counts: np.ndarray


def empty(n_examples: int, planes: int = SPARE_PLANES, codes: int = SPARE_CODES) -> WorkingSet:
    """Empty working sets with capacity for the given numbers of planes and codes."""
    return WorkingSet(
        np.full(n_examples, NO_PLANE, np.int64),
        np.full(planes, NO_PLANE, np.int64),
        np.zeros(planes),
        np.zeros(planes),
        np.zeros(planes),
        np.zeros(planes, np.int64),
        np.zeros(planes, np.int64),
        np.zeros(codes, np.uint16),
        np.zeros(4, np.int64),
    )


def resized(planes: WorkingSet, n_examples: int) -> WorkingSet:
    """Planes of another number of examples: new ones get an empty list; dropped ones must have no planes."""
    more = n_examples - len(planes.head)
    head = planes.head[:n_examples] if more < 0 else appended(planes.head, np.full(more, NO_PLANE))
    return planes._replace(head=head)


def free_planes(planes: WorkingSet) -> int:
    """The number of planes that can still be stored."""
    return len(planes.next) - int(planes.counts[N_PLANES])


def free_codes(planes: WorkingSet) -> int:
    """The number of codes that can still be stored."""
    return len(planes.codes) - int(planes.counts[N_CODES])


def max_codes(entries: np.ndarray) -> np.ndarray:
    """Upper bounds of the numbers of codes of planes with so many entries, int64 [n]."""
    return CODES_OF_ENTRY * entries + CODES_OF_PLANE


def make_room(planes: WorkingSet, n_planes: int, n_codes: int) -> np.ndarray:
    """Close the gaps that dropped planes have left, then enlarge the arrays as needed, all in place.

    Afterwards there is room for n_planes more planes with n_codes codes in total. Earlier views of the arrays become
    invalid.

    Returns the new number of each plane, int64, NO_PLANE for dropped planes.
    """
    new_numbers = _close_gaps(planes)
    stored, codes = int(planes.counts[N_PLANES]), int(planes.counts[N_CODES])
    more_planes = max(len(planes.next), stored + stored // GROWTH + n_planes + SPARE_PLANES)
    _resize(planes, more_planes, max(len(planes.codes), codes + codes // GROWTH + n_codes + SPARE_CODES))
    return new_numbers


def trim(planes: WorkingSet) -> np.ndarray:
    """Release unused capacity, in place. Returns the new number of each plane, as `make_room` does."""
    new_numbers = _close_gaps(planes)
    _resize(planes, int(planes.counts[N_PLANES]), int(planes.counts[N_CODES]))
    return new_numbers


def _resize(planes: WorkingSet, n_planes: int, n_codes: int) -> None:
    # In place: a copy would double the memory of the largest arrays in training.
    for plane_array in (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size):
        plane_array.resize(n_planes, refcheck=False)
    planes.codes.resize(n_codes, refcheck=False)


def count(planes: WorkingSet) -> int:
    """Number of planes in all working sets."""
    return int(planes.counts[N_PLANES] - planes.counts[N_DROPPED])


def check(planes: WorkingSet, sizes: Sizes) -> None:
    """Check working sets that were read from a file, so that no kernel can leave the arrays' bounds or loop for ever.

    Args:
        sizes: of the problem, "n" and "d"; "p", the number of planes, is added.

    Raises:
        ValueError: an array has a wrong length, an index is out of range, or two lists share a plane.
    """
    n_planes, n_dropped, n_codes, n_codes_dropped = map(int, planes.counts) if len(planes.counts) == 4 else (-1,) * 4
    columns = (planes.next, planes.alpha, planes.loss, planes.norm, planes.begin, planes.size)
    _require(len(planes.head) == sizes["n"], "does not have one list of planes for each example")
    _require({*map(len, columns)} == {n_planes} and n_dropped == 0, "does not have the planes that it counts")
    _require(len(planes.codes) == n_codes and n_codes_dropped == 0, "does not have the entries that it counts")
    links = np.concatenate([planes.head, planes.next])
    links = links[links != NO_PLANE]
    _require(bool(((links >= 0) & (links < n_planes)).all()), "links to planes that do not exist")
    # So many links to different planes, none of which can be part of a circle if every list starts at a head.
    _require(len(np.unique(links)) == len(links) == n_planes, "does not have each plane in one list")
    within = (planes.begin >= 0) & (planes.size >= 0) & (planes.begin <= n_codes - planes.size)
    _require(bool(within.all()), "has a plane beyond its entries")
    _require(bool((planes.alpha >= 0).all()), "has a negative dual variable")
    listed, current = 0, planes.head[planes.head != NO_PLANE]
    while len(current):
        listed += len(current)
        _require(_are_within(planes, current, sizes["d"]), "has an index beyond the weights")
        current = planes.next[current]
        current = current[current != NO_PLANE]
    _require(listed == n_planes, "has planes in a circle")
    sizes["p"] = n_planes


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(f"its working set {complaint}")


@kernel
def _are_within(planes, numbers, dimension):
    """Whether all codes of these planes, int64, can be read, and all their indices are below `dimension`."""
    for p in numbers:
        at, end, index = planes.begin[p], planes.begin[p] + planes.size[p], 0
        while at < end:
            is_entry, at, index, _ = _next_entry(planes.codes, at, end, index)
            if at > end or not is_entry or index >= dimension:
                return False
    return True


def _close_gaps(planes: WorkingSet) -> np.ndarray:
    """Move the planes that are in a list to the front of the arrays; their order in arrays and lists does not change.

    Returns the new number of each plane, int64 [stored planes], NO_PLANE for dropped planes.
    """
    new_numbers = np.full(int(planes.counts[N_PLANES]), NO_PLANE)
    _move_to_front(planes, new_numbers)
    return new_numbers


@kernel
def _move_to_front(planes, new_numbers):
    """`_close_gaps`; new_numbers: int64 [stored planes], NO_PLANE everywhere."""
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NO_PLANE:
            new_numbers[p] = p
            p = planes.next[p]
    to_plane, to_code = 0, 0
    for p in range(planes.counts[N_PLANES]):
        if new_numbers[p] == NO_PLANE:
            continue
        new_numbers[p] = to_plane
        older, begin, size = planes.next[p], planes.begin[p], planes.size[p]
        planes.next[to_plane] = NO_PLANE if older == NO_PLANE else new_numbers[older]
        planes.alpha[to_plane] = planes.alpha[p]
        planes.loss[to_plane] = planes.loss[p]
        planes.norm[to_plane] = planes.norm[p]
        planes.begin[to_plane] = to_code
        planes.size[to_plane] = size
        if begin != to_code:
            for k in range(size):
                planes.codes[to_code + k] = planes.codes[begin + k]
        to_plane += 1
        to_code += size
    for example in range(len(planes.head)):
        if planes.head[example] != NO_PLANE:
            planes.head[example] = new_numbers[planes.head[example]]
    planes.counts[:] = 0
    planes.counts[N_PLANES] = to_plane
    planes.counts[N_CODES] = to_code


@kernel
def append(planes, example, indices, values, size, loss, alpha):
    """Put a plane, of `size` entries with ascending indices, at the head of the example's list; returns its number.

    Values are rounded to single precision. `make_room` must have been called before, for all planes that a kernel may
    append.
    """
    p, begin, codes = planes.counts[N_PLANES], planes.counts[N_CODES], planes.codes
    at, before, norm = begin, 0, 0.0
    for k in range(size):
        gap, value = np.int64(indices[k]) - before, np.float32(values[k])
        before, norm = before + gap, norm + value * value
        while gap >> GAP_BITS:
            skipped = min(gap >> GAP_BITS, (1 << GAP_BITS) - 1)
            codes[at] = np.uint16(skipped << 2 | SKIP)
            gap, at = gap - (skipped << GAP_BITS), at + 1
        kind = PLUS_ONE if value == 1.0 else MINUS_ONE if value == -1.0 else OTHER
        codes[at] = np.uint16(gap << 2 | kind)
        at += 1
        if kind == OTHER:
            bits = value.view(np.uint32)
            codes[at], codes[at + 1] = np.uint16(bits >> 16), np.uint16(bits & 0xFFFF)
            at += 2
    planes.begin[p], planes.size[p] = begin, at - begin
    planes.loss[p], planes.norm[p], planes.alpha[p] = loss, norm, alpha
    planes.next[p] = planes.head[example]
    planes.head[example] = p
    planes.counts[N_PLANES] += 1
    planes.counts[N_CODES] = at
    return p


@kernel
def _value(codes, at):
    """The value, float32, in two codes."""
    return np.uint32(np.uint32(codes[at]) << np.uint32(16) | np.uint32(codes[at + 1])).view(np.float32)


@kernel
def _next_entry(codes, at, end, index):
    """Read the entry at position `at` of the codes of a plane that ends at `end`; index: of the entry before.

    Returns whether there is one, the position of the next entry, the index, and the value, float32.
    """
    code = np.int64(codes[at])
    while code & 3 == SKIP:
        index += code >> 2 << GAP_BITS
        at += 1
        if at == end:
            return False, at, index, np.float32(0.0)
        code = np.int64(codes[at])
    index += code >> 2
    if code & 3 != OTHER:
        return True, at + 1, index, np.float32(1.0 - 2.0 * (code & 3))
    if at + 2 >= end:
        return False, end, index, np.float32(0.0)
    return True, at + 3, index, _value(codes, at + 1)


@kernel
def read_plane(planes, p):
    """The entries of plane p, ascending indices int64 [m] and values float32 [m]; none for NO_PLANE, the gold plane."""
    begin = 0 if p == NO_PLANE else planes.begin[p]
    end = 0 if p == NO_PLANE else begin + planes.size[p]
    indices, values = np.empty(end - begin, np.int64), np.empty(end - begin, np.float32)
    at, index, size = begin, 0, 0
    while at < end:
        _, at, index, value = _next_entry(planes.codes, at, end, index)
        indices[size], values[size] = index, value
        size += 1
    return indices[:size], values[:size]


@kernel
def add(planes, example, buffer, size, loss):
    """Put the plane in `buffer` at the head of the example's list, with α = 0; returns its number."""
    return append(planes, example, buffer.indices, buffer.values, size, loss, 0.0)


@kernel
def is_plane(planes, p, buffer, size, loss):
    """Whether plane p equals the one in `buffer`."""
    if planes.loss[p] != loss:
        return False
    at, end, index = planes.begin[p], planes.begin[p] + planes.size[p], 0
    for k in range(size):
        if at == end:
            return False
        _, at, index, value = _next_entry(planes.codes, at, end, index)
        if index != buffer.indices[k] or value != np.float32(buffer.values[k]):
            return False
    return at == end


@kernel
def find(planes, example, buffer, size, loss):
    """The example's plane that equals the one in `buffer`, or NO_PLANE."""
    p = planes.head[example]
    while p != NO_PLANE and not is_plane(planes, p, buffer, size, loss):
        p = planes.next[p]
    return p


@kernel
def drop_inactive(planes, example):
    """Take the planes with α = 0 out of the example's list."""
    drop_unused(planes, example, planes.alpha)


@kernel
def drop_unused(planes, example, uses):
    """Take the planes whose use is 0 out of the example's list. uses: float64, of each plane."""
    previous = NO_PLANE
    p = planes.head[example]
    while p != NO_PLANE:
        following = planes.next[p]
        if uses[p] > 0.0:
            previous = p
        else:
            if previous == NO_PLANE:
                planes.head[example] = following
            else:
                planes.next[previous] = following
            planes.counts[N_DROPPED] += 1
            planes.counts[N_DROPPED_CODES] += planes.size[p]
        p = following


@kernel
def forget_all(planes, examples):
    """Empty the working sets of `examples`; w does not change."""
    for example in examples:
        p = planes.head[example]
        while p != NO_PLANE:
            planes.alpha[p] = 0.0
            p = planes.next[p]
        drop_inactive(planes, example)


@kernel
def plane_dot(weights, planes, p):
    """wᵀΔΦ of plane p."""
    codes, at, index, total = planes.codes, planes.begin[p], 0, 0.0
    end = at + planes.size[p]
    while at < end:
        code = np.int64(codes[np.uint64(at)])
        at += 1
        if code & 3 == SKIP:
            index += code >> 2 << GAP_BITS
            continue
        index += code >> 2
        # Unsigned: an index that might be negative would be compared with 0.
        weight = weights[np.uint64(index)]
        if code & 3 == OTHER:
            total += weight * _value(codes, at)
            at += 2
        else:
            total += -weight if code & 1 else weight
    return total


@kernel
def plane_axpy(weights, step, planes, p):
    """w ← w + step · ΔΦ of plane p."""
    codes, at, index = planes.codes, planes.begin[p], 0
    end = at + planes.size[p]
    while at < end:
        code = np.int64(codes[np.uint64(at)])
        at += 1
        if code & 3 == SKIP:
            index += code >> 2 << GAP_BITS
            continue
        index += code >> 2
        if code & 3 == OTHER:
            weights[np.uint64(index)] += step * _value(codes, at)
            at += 2
        else:
            weights[np.uint64(index)] += -step if code & 1 else step


@kernel
def total_alpha(planes, example):
    """Σ_y α_i(y) over the example's working set."""
    total = 0.0
    p = planes.head[example]
    while p != NO_PLANE:
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
        while p != NO_PLANE:
            plane_axpy(weights, planes.alpha[p], planes, p)
            p = planes.next[p]


@kernel
def dual_sums(planes):
    """Σ αΔ over all planes and Σ_i (Σ_y α_i(y))² over all examples."""
    linear, squares = 0.0, 0.0
    for example in range(len(planes.head)):
        total = 0.0
        p = planes.head[example]
        while p != NO_PLANE:
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
        while p != NO_PLANE:
            plane_axpy(weights, -planes.alpha[p], planes, p)
            p = planes.next[p]
    forget_all(planes, examples)
