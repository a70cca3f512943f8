"""Weights of a chain that are numbered in the order of their use.

Of all pairs of a feature row and a label, a few in a hundred ever get a weight. Numbered by row, as `Chains` describes,
these are scattered over R · L places. Here the first pair that an oracle writes gets the first place, and so on: the
weights in use lie side by side, and the rest of a vector, zeros that nobody writes to, takes no memory. Tokens are
scored by reading the weights in use only.
"""

from typing import NamedTuple

import numpy as np

from ...growth import appended, extended
from ...kernels import Int32Array2d, Int64Array, Int64Array2d, kernel, prefetch

NO_CHUNK = -1
"""The end of a row's list of chunks."""
NO_PAIR = -1
"""The pair of a place that is not in use."""

CHUNK = 4
"""Places that are read together: a row with any weights seldom has fewer than two, and seldom more than four."""

LABEL_BITS, USED_BITS = 16, 3
"""Bits of a label in a chunk, and of the number of places in use in a link."""

FREQUENT = 4
"""A row that occurs at least once per FREQUENT labels has places for all labels."""


class Numbering(NamedTuple):
    """The places of the weights of R feature rows and L labels, after the transitions, in chunks of CHUNK.

    A row has a list of chunks, newest first, or, if it is frequent, chunks for all labels, one after the other. Places
    of chunks in lists are used from the first one on; the weights of unused ones remain 0.

    first: int64 [R], the first chunk of each row, or NO_CHUNK; −2 − c for a row with all labels from chunk c on.
    chunks: int64 [R · ⌈L / CHUNK⌉, 2], of each chunk in a list: its labels, the first one in the lowest bits; the
        number of its places in use and, above USED_BITS, the next chunk of the list plus 1.
    counts: int64 [1], the number of chunks in use.
    """

    first: Int64Array
    chunks: Int64Array2d
    counts: Int64Array


class StepNumbering(NamedTuple):
    """The places of the weights of transitions, among the first L² of the weight vector.

    Attributes:
        places: int32 [L, L], the place of the weight of each transition in use plus 1, or 0.
        steps: int32 [L², 2], the labels of the transition at each place.
        counts: int64 [1], the number of places in use.
    """

    places: Int32Array2d
    steps: Int32Array2d
    counts: Int64Array


NO_NUMBERING = Numbering(np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros(0, np.int64))
NO_STEPS = StepNumbering(np.zeros((0, 0), np.int32), np.zeros((0, 2), np.int32), np.zeros(0, np.int64))


def chunks_of_row(n_labels: int) -> int:
    """The number of chunks that hold all labels."""
    return -(-n_labels // CHUNK)


def new_numbering(n_rows: int, n_labels: int, frequent: np.ndarray) -> Numbering:
    """A numbering with places for all labels of the frequent rows, int64, and no others."""
    first, size = np.full(n_rows, NO_CHUNK), chunks_of_row(n_labels)
    first[frequent] = -2 - size * np.arange(len(frequent))
    # Zeros that are not written to take no memory.
    return Numbering(first, np.zeros((n_rows * size, 2), np.int64), np.array([size * len(frequent)]))


def with_rows(numbering: Numbering, n_rows: int, n_labels: int) -> Numbering:
    """A numbering with the same places, for n_rows rows: at least as many as before."""
    more, n_chunks = np.full(n_rows - len(numbering.first), NO_CHUNK), int(numbering.counts[0])
    chunks = extended(numbering.chunks, n_rows * chunks_of_row(n_labels), n_chunks)
    return Numbering(appended(numbering.first, more), chunks, numbering.counts)


@kernel
def _label(numbering, chunk, k):
    return numbering.chunks[chunk, 0] >> LABEL_BITS * k & ((1 << LABEL_BITS) - 1)


@kernel
def _n_used(numbering, chunk):
    return numbering.chunks[chunk, 1] & ((1 << USED_BITS) - 1)


@kernel
def _next(numbering, chunk):
    return (numbering.chunks[chunk, 1] >> USED_BITS) - 1


@kernel
def _place(numbering, row, label):
    """The place of a weight, a free one if it has none yet."""
    first = numbering.first[row]
    if first < NO_CHUNK:
        return CHUNK * (-2 - first) + label
    chunk = first
    while chunk != NO_CHUNK:
        for k in range(_n_used(numbering, chunk)):
            if _label(numbering, chunk, k) == label:
                return CHUNK * chunk + k
        chunk = _next(numbering, chunk)
    chunk = first
    if chunk == NO_CHUNK or _n_used(numbering, chunk) == CHUNK:
        chunk = numbering.counts[0]
        numbering.counts[0] += 1
        numbering.chunks[chunk, 1] = (first + 1) << USED_BITS
        numbering.first[row] = chunk
    k = _n_used(numbering, chunk)
    numbering.chunks[chunk, 0] |= np.int64(label) << LABEL_BITS * k
    numbering.chunks[chunk, 1] += 1
    return CHUNK * chunk + k


@kernel
def _step_place(steps, i, j):
    """The place of the weight of a transition, a free one if it has none yet."""
    place = steps.places[i, j]
    if place == 0:
        place = steps.counts[0] + 1
        steps.steps[place - 1, 0], steps.steps[place - 1, 1] = i, j
        steps.places[i, j] = place
        steps.counts[0] = place
    return place - 1


@kernel
def fetch_row_in_use(numbering, row, begin, weights):
    """The first chunk of a row's list; it starts to fetch it. begin: the number of weights before the rows'."""
    chunk = numbering.first[row]
    place = chunk if chunk >= 0 else -2 - chunk
    prefetch(numbering.chunks, 2 * place)
    prefetch(weights, begin + CHUNK * place)
    return chunk


@kernel
def add_row_in_use(numbering, chunk, value, begin, weights, score):
    """Add value times a row's weights to score, [L]; chunk: of `fetch_row_in_use`."""
    chunks, n_labels, mask = numbering.chunks, np.uint64(len(score)), (1 << LABEL_BITS) - 1
    if chunk < NO_CHUNK:
        block = np.uint64(begin + CHUNK * (-2 - chunk))
        for label in range(n_labels):
            score[label] += value * weights[block + label]
    while chunk >= 0:
        at, labels = np.uint64(begin + CHUNK * chunk), chunks[np.uint64(chunk), 0]
        # A label of an unused place is 0, as is its weight.
        score[np.uint64(labels & mask)] += value * weights[at]
        score[np.uint64(labels >> LABEL_BITS & mask)] += value * weights[at + np.uint64(1)]
        score[np.uint64(labels >> 2 * LABEL_BITS & mask)] += value * weights[at + np.uint64(2)]
        score[np.uint64(labels >> 3 * LABEL_BITS & mask)] += value * weights[at + np.uint64(3)]
        chunk = (chunks[np.uint64(chunk), 1] >> USED_BITS) - 1


@kernel
def name_places(numbering, steps, n_labels, indices, n):
    """Replace the first n indices, of weights by row, by their places, unless weights are numbered by row.

    Args:
        steps: if transitions are numbered, too.
    """
    if len(numbering.counts) == 0:
        return
    begin = n_labels * n_labels
    for k in range(n):
        row = indices[k] // n_labels
        label = indices[k] - row * n_labels
        if row >= n_labels:
            indices[k] = begin + _place(numbering, row - n_labels, label)
        elif len(steps.counts) > 0:
            indices[k] = _step_place(steps, row, label)


def n_places(numbering: Numbering, n_labels: int) -> int:
    """The number of places of weights up to the last chunk in use, transitions included."""
    return n_labels * n_labels + CHUNK * int(numbering.counts[0])


@kernel
def _write_pairs(numbering, n_labels, pairs):
    for row in range(len(numbering.first)):
        chunk = numbering.first[row]
        if chunk < NO_CHUNK:
            for label in range(n_labels):
                pairs[CHUNK * (-2 - chunk) + label] = row * n_labels + label
        while chunk >= 0:
            for k in range(_n_used(numbering, chunk)):
                pairs[CHUNK * chunk + k] = row * n_labels + _label(numbering, chunk, k)
            chunk = _next(numbering, chunk)


@kernel
def _write_non_zeros(numbering, n_labels, weights, pairs, values):
    n = 0
    for row in range(len(numbering.first)):
        begin, chunk = n, numbering.first[row]
        if chunk < NO_CHUNK:
            for label in range(n_labels):
                value = weights[CHUNK * (-2 - chunk) + label]
                if value != 0.0:
                    pairs[n], values[n] = row * n_labels + label, value
                    n += 1
        while chunk >= 0:
            for k in range(_n_used(numbering, chunk)):
                value = weights[CHUNK * chunk + k]
                if value != 0.0:
                    pair, place = row * n_labels + _label(numbering, chunk, k), n
                    while place > begin and pairs[place - 1] > pair:
                        pairs[place], values[place] = pairs[place - 1], values[place - 1]
                        place -= 1
                    pairs[place], values[place] = pair, value
                    n += 1
            chunk = _next(numbering, chunk)


def non_zeros_of_rows(numbering: Numbering, n_labels: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs row · L + label, int64, ascending, and the values of the weights that are not zero.

    Args:
        weights: float [≥ CHUNK · chunks in use]; further ones are zero.
    """
    n = int(np.count_nonzero(weights))
    pairs, values = np.empty(n, np.int64), np.empty(n, weights.dtype)
    _write_non_zeros(numbering, n_labels, weights, pairs, values)
    return pairs, values


def pairs_of(numbering: Numbering, n_labels: int) -> np.ndarray:
    """The pair of each place of the chunks in use, row · L + label, int64; NO_PAIR for unused places."""
    pairs = np.full(CHUNK * int(numbering.counts[0]), NO_PAIR)
    _write_pairs(numbering, n_labels, pairs)
    return pairs


@kernel
def _append_chunks(numbering, n_labels, pairs):
    """Append lists' chunks with these pairs; returns whether each chunk is of one infrequent row."""
    for chunk in range(numbering.counts[0], len(pairs) // CHUNK):
        row, used = NO_PAIR, 0
        while used < CHUNK and pairs[CHUNK * chunk + used] != NO_PAIR:
            pair = pairs[CHUNK * chunk + used]
            if used and pair // n_labels != row:
                return False
            row = pair // n_labels
            numbering.chunks[chunk, 0] |= (pair - row * n_labels) << LABEL_BITS * used
            used += 1
        if used == 0 or numbering.first[row] < NO_CHUNK:
            return False
        numbering.chunks[chunk, 1] = (numbering.first[row] + 1) << USED_BITS | used
        numbering.first[row] = chunk
    numbering.counts[0] = len(pairs) // CHUNK
    return True


def numbering_of(pairs: np.ndarray, n_rows: int, n_labels: int) -> Numbering:
    """The numbering with these pairs, int64: the inverse of `pairs_of`.

    Raises:
        ValueError: `pairs_of` cannot have returned them.
    """
    size = CHUNK * chunks_of_row(n_labels)
    blocks = pairs[: len(pairs) // size * size].reshape(-1, size)
    is_row = (blocks[:, :n_labels] % n_labels == np.arange(n_labels)).all(axis=1)
    is_row &= (blocks[:, :n_labels] // n_labels == blocks[:, :1] // n_labels).all(axis=1) & (blocks[:, 0] >= 0)
    frequent = blocks[: int(np.argmin(np.append(is_row, False))), 0] // n_labels
    are_possible = len(pairs) % CHUNK == 0 and ((pairs >= NO_PAIR) & (pairs < n_rows * n_labels)).all()
    if not are_possible or len(pairs) > n_rows * size or len(np.unique(frequent)) < len(frequent):
        raise ValueError("its solver state has weights of features or labels that it does not have")
    numbering = new_numbering(n_rows, n_labels, frequent)
    if not _append_chunks(numbering, n_labels, pairs):
        raise ValueError("its solver state has weights of features in a wrong order")
    return numbering


def new_steps(n_labels: int, used: np.ndarray) -> StepNumbering:
    """A numbering with places for these transitions, int64, from · L + to, in this order.

    Raises:
        ValueError: a transition does not exist, or occurs twice.
    """
    if len(np.unique(used)) < len(used) or not ((used >= 0) & (used < n_labels * n_labels)).all():
        raise ValueError("its solver state has weights of transitions that it does not have")
    places, steps = np.zeros((n_labels, n_labels), np.int32), np.zeros((n_labels * n_labels, 2), np.int32)
    places.reshape(-1)[used] = 1 + np.arange(len(used))
    steps[: len(used), 0], steps[: len(used), 1] = np.divmod(used, n_labels)
    return StepNumbering(places, steps, np.array([len(used)]))


def used_steps(steps: StepNumbering) -> np.ndarray:
    """The transitions in use, int64, from · L + to, in the order of their places: the inverse of `new_steps`."""
    used = steps.steps[: int(steps.counts.sum())].astype(np.int64)
    return used[:, 0] * len(steps.places) + used[:, 1]
