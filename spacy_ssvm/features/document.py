"""The document around a word: shapes and labels of the word's other occurrences in the same Doc.

Words that are equal in lower case are the same. Of the other occurrences, the nearest ones count: at most NEAREST on
either side, none of them further away than REACH tokens. Time and memory are linear in the number of tokens.
"""

import numpy as np

from ..kernels import kernel
from .index import empty_table, grown, insert

NEAREST = 5
REACH = 2000
MAX_COUNT = 3
"""The max count of other occurrences with a label; higher ones count as this."""

STARTS = np.uint64(1)
"""spaCy's SENT_START of the first token of a sentence."""


@kernel
def link(starts, words, table, previous, following):
    """Write the nearest tokens before and after each token with the same word in the same sequence; -1 for none.

    Args:
        starts: int64 [n + 1], first token of each sequence.
        words: uint64 [T].
        table: empty, with more than T slots.
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
    """Write the other occurrences that count for a token: first the earlier ones; on either side, the nearest first.

    Args:
        previous, following: of `link`.
        others: int64 [2 · NEAREST], output.

    Returns:
        Their number.
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
def _write_shapes(starts, previous, following, shapes, boundaries, found_shapes):
    others, found = np.empty(2 * NEAREST, np.int64), np.empty(2 * NEAREST, np.uint64)
    for sequence in range(len(starts) - 1):
        for token in range(starts[sequence], starts[sequence + 1]):
            inside = 0
            for k in range(find_others(previous, following, token, others)):
                if others[k] > starts[sequence] and boundaries[others[k]] != STARTS:
                    found[inside] = shapes[others[k]]
                    inside += 1
            if inside:
                found_shapes[token] = _most_frequent(found, inside)[0]


@kernel
def vote(previous, following, labels, keys, votes):
    """Write the key of the most frequent label of the other occurrences of each token; 0 if there are none.

    Args:
        previous, following: of `link`.
        labels: int32 [T].
        keys: uint64 [L, 2, MAX_COUNT], by label, by whether other labels occur, and by the number of occurrences less
            1.
        votes: uint64 [T], output.
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


def shapes_of_others(starts: np.ndarray, words: np.ndarray, shapes: np.ndarray, boundaries: np.ndarray) -> np.ndarray:
    """The shape of most other occurrences of each token inside sentences, uint64 [T]; 0 if there are none.

    Args:
        starts: int64 [n + 1], the first token of each Doc.
        words, shapes: uint64 [T], lower-cased words and short shapes.
        boundaries: uint64 [T], spaCy's SENT_START.
    """
    found = np.zeros(len(words), np.uint64)
    _write_shapes(starts, *links(starts, words), shapes, boundaries, found)
    return found
