"""The document around a word: what the other occurrences of the word in the same Doc look like.

Words are the same if they are when lower-cased. Of the other occurrences, the nearest ones count: at most NEAREST on
either side, none of them further away than REACH tokens. Time and memory are linear in the number of tokens, however
long a Doc is.
"""

import numpy as np

from ..kernels import kernel
from .attributes import DOCUMENT_ATTRIBUTES
from .index import OUTSIDE, empty_table, grown, insert

NEAREST = 5
REACH = 2000
MAX_COUNT = 3
"""Larger numbers of other occurrences are not told apart."""

FIRST_SENTENCES = (0, 1, 2, 5)
"""The first sentence, from 0, of each bin of sentences."""

STARTS = np.uint64(1)
"""spaCy's SENT_START of the first token of a sentence."""


@kernel
def link(starts, words, table, previous, following):
    """Write the nearest tokens before and after each token with the same word in the same sequence; -1 for none.

    starts: int64 [n + 1], first token of each sequence. words: uint64 [T]. table: empty, with more than T slots.
    previous, following: int64 [T], output.
    """
    latest = np.empty(len(words), np.int64)
    for sequence in range(len(starts) - 1):
        for token in range(starts[sequence], starts[sequence + 1]):
            known = table.counts[0]
            row = insert(table, words[token])
            previous[token] = following[token] = -1
            if row < known and latest[row] >= starts[sequence]:
                previous[token] = latest[row]
                following[latest[row]] = token
            latest[row] = token


@kernel
def find_others(previous, following, token, others):
    """Write the other occurrences that count for a token, those before it first, the nearest first of either side.

    previous, following: of `link`. others: int64 [2 · NEAREST], output. Returns their number.
    """
    n = 0
    for side in range(2):
        at = token
        for _ in range(NEAREST):
            at = previous[at] if side == 0 else following[at]
            if at < 0 or abs(at - token) > REACH:
                break
            others[n] = at
            n += 1
    return n


@kernel
def _nearest(token, others, n):
    """The nearest of the n other occurrences; of two at the same distance the one before."""
    nearest = others[0]
    for k in range(1, n):
        if abs(others[k] - token) < abs(nearest - token):
            nearest = others[k]
    return nearest


@kernel
def _most_frequent(values, n):
    """The most frequent one of the first n values, of several the first one."""
    best, highest = 0, 0
    for k in range(n):
        count = 0
        for other in range(n):
            count += values[other] == values[k]
        if count > highest:
            best, highest = k, count
    return values[best], highest


@kernel
def _describe(starts, previous, following, words, shapes, boundaries, found_keys):
    """Write the keys of the first four DOCUMENT_ATTRIBUTES, uint64 [4, T], initially 0."""
    count, shape, before, after = found_keys
    others, found = np.empty(2 * NEAREST, np.int64), np.empty(2 * NEAREST, np.uint64)
    for sequence in range(len(starts) - 1):
        first, end = starts[sequence], starts[sequence + 1]
        for token in range(first, end):
            n = find_others(previous, following, token, others)
            if n == 0:
                continue
            count[token] = min(n, MAX_COUNT)
            nearest = _nearest(token, others, n)
            before[token] = words[nearest - 1] if nearest > first else OUTSIDE
            after[token] = words[nearest + 1] if nearest + 1 < end else OUTSIDE
            inside = 0
            for k in range(n):
                if others[k] > first and boundaries[others[k]] != STARTS:
                    found[inside] = shapes[others[k]]
                    inside += 1
            if inside:
                shape[token] = _most_frequent(found, inside)[0]


@kernel
def _number_sentences(starts, boundaries, sentence):
    """Write the bin of each token's sentence, 1 … len(FIRST_SENTENCES); nothing in Docs of one sentence."""
    for sequence in range(len(starts) - 1):
        number = 0
        for token in range(starts[sequence], starts[sequence + 1]):
            number += token > starts[sequence] and boundaries[token] == STARTS
            for first in FIRST_SENTENCES:
                sentence[token] += number >= first
        if number == 0:
            for token in range(starts[sequence], starts[sequence + 1]):
                sentence[token] = 0


@kernel
def vote(previous, following, labels, keys, votes):
    """Write the key of the most frequent label of the other occurrences of each token; 0 if there are none.

    previous, following: of `link`. labels: int32 [T]. keys: uint64 [L, 2, MAX_COUNT], by label, by whether other
    labels occur, and by the number of occurrences less 1. votes: uint64 [T], output.
    """
    others, found = np.empty(2 * NEAREST, np.int64), np.empty(2 * NEAREST, np.int64)
    for token in range(len(labels)):
        votes[token] = 0
        n = find_others(previous, following, token, others)
        if n:
            for k in range(n):
                found[k] = labels[others[k]]
            label, highest = _most_frequent(found, n)
            votes[token] = keys[label, 1 if highest < n else 0, min(n, MAX_COUNT) - 1]


def links(starts: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest tokens before and after each token with the same word in the same sequence, int64 [T]: see `link`."""
    previous, following = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
    link(starts, words, grown(empty_table(), 1 << (2 * len(words) + 1).bit_length()), previous, following)
    return previous, following


def describe(
    starts: np.ndarray, words: np.ndarray, shapes: np.ndarray, boundaries: np.ndarray
) -> dict[str, np.ndarray]:
    """The keys of all attributes but LABEL, each uint64 [T]; 0 for no value.

    starts: int64 [n + 1], the first token of each Doc. words, shapes: uint64 [T], lower-cased words and short shapes.
    boundaries: uint64 [T], spaCy's SENT_START.
    """
    keys = np.zeros((5, len(words)), np.uint64)
    _describe(starts, *links(starts, words), words, shapes, boundaries, keys[:4])
    _number_sentences(starts, boundaries, keys[4])
    return dict(zip(DOCUMENT_ATTRIBUTES, keys))
