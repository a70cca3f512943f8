"""Chains whose weights are numbered in the order of their use.

Of all pairs of a feature row and a label, a few in a hundred ever get a weight. Numbered by row, as `Chains` describes,
these are scattered over R · L places. Here the first pair that an oracle writes gets the first place, and so on: the
weights in use lie side by side, and the rest of a vector, zeros that nobody writes to, takes no memory. Tokens are
scored by reading the weights in use only.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...growth import appended, extended
from ...kernels import Int64Array, Int64Array2d, kernel, prefetch
from ...solvers.problem import Extent, Problem
from .data import Chains, value_of
from .oracles import extent, feature_difference
from .scores import add_attributes_and_constraints, add_loss, best_path

NO_CHUNK = -1
"""The end of a row's list of chunks."""
NO_PAIR = -1
"""The pair of a place that is not in use."""

CHUNK = 4
"""Places that are read together: a row with any weights seldom has fewer than two, and seldom more than four."""

LABEL_BITS, USED_BITS = 16, 3
"""Bits of a label in a chunk, and of the number of places in use in a link."""

FREQUENT = 4
"""Rows that occur at least once for so many labels have places for all labels."""


class Numbering(NamedTuple):
    """The places, behind those of transitions, of the weights of R feature rows and L labels, in chunks of CHUNK.

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


class NumberedChains(NamedTuple):
    """Chains with the numbering of their weights, to which oracles append: they must not run in several threads."""

    chains: Chains
    numbering: Numbering


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
def place_of(numbering, row, label):
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
def look_up(data, first, end, begin, weights, found):
    """Write the first chunk of each of the features first … end − 1 to `found`, int64, and start to fetch them."""
    firsts, chunks, rows = data.numbering.first, data.numbering.chunks, data.chains.rows
    for f in range(first, end):
        chunk = firsts[rows[f]]
        found[f - first] = chunk
        place = chunk if chunk >= 0 else -2 - chunk
        prefetch(chunks, 2 * place)
        prefetch(weights, begin + CHUNK * place)


@kernel
def add_rows_in_use(data, token, found, weights, score):
    """`scores.add_rows` by the weights in use; found: of `look_up`."""
    chains, chunks, begin = data.chains, data.numbering.chunks, len(score) * len(score)
    n_labels, mask = np.uint64(len(score)), (1 << LABEL_BITS) - 1
    first = chains.feature_starts[token]
    for f in range(first, chains.feature_starts[token + 1]):
        value, chunk = value_of(chains.values, f), found[f - first]
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
def max_oracle(data, example, weights, loss_scale, indices, values):
    """`oracles.max_oracle` of `NumberedChains`."""
    chains = data.chains
    constraints, first = chains.constraints, chains.starts[example]
    n_labels = len(constraints.start)
    scores, begin = np.empty((chains.starts[example + 1] - first, n_labels)), n_labels * n_labels
    features = chains.feature_starts[first : chains.starts[example + 1] + 1]
    found = np.empty(features[-1] - features[0], np.int64)
    look_up(data, features[0], features[-1], begin, weights, found)
    for t in range(len(scores)):
        score = scores[t]
        score[:] = 0.0
        add_rows_in_use(data, first + t, found[features[t] - features[0] :], weights, score)
        add_attributes_and_constraints(chains, first + t, score)
    if loss_scale != 0.0:
        add_loss(chains, example, loss_scale, scores)
    path = np.empty(len(scores), np.int32)
    best_path(chains, weights, scores, path)
    entries, loss = feature_difference(chains, example, path, indices, values)
    for k in range(entries):
        if indices[k] >= begin:
            row = (indices[k] - begin) // n_labels
            indices[k] = begin + place_of(data.numbering, row, indices[k] - begin - row * n_labels)
    return entries, loss


def n_places(numbering: Numbering, n_labels: int) -> int:
    """The number of places of weights up to the last chunk in use, those of transitions included."""
    return n_labels * n_labels + CHUNK * int(numbering.counts[0])


def numbered_problem(chains: Chains, numbering: Numbering, known: Extent | None = None) -> Problem:
    """The problem of labelled sequences, for solvers that call its max-oracle only, and in one thread.

    known: `oracles.extent` of the chains, if they have been found.
    """
    known = extent(chains) if known is None else known
    n_labels = len(chains.constraints.start)
    return Problem(
        NumberedChains(chains, numbering),
        max_oracle,
        n_examples=len(chains.starts) - 1,
        dimension=n_labels * n_labels + CHUNK * len(numbering.chunks),
        plane_entries=known.plane_entries,
        n_named=partial(n_places, numbering, n_labels),
        unit=known.unit,
    )


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


def pairs_of(numbering: Numbering, n_labels: int) -> np.ndarray:
    """The pair of each place of the chunks in use, row · L + label, int64; NO_PAIR for unused places."""
    pairs = np.full(CHUNK * int(numbering.counts[0]), NO_PAIR)
    _write_pairs(numbering, n_labels, pairs)
    return pairs


@kernel
def _append_chunks(numbering, n_labels, pairs):
    """Append lists' chunks with these pairs; returns whether each of them is of one row that is not frequent."""
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
