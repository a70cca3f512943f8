"""Layouts of a chain's weights: the places of feature rows' weights, and the scoring of a sequence's tokens.

While weights are learnt, they lie by row or, with a `Numbering`, by use, depending on the arrays in the data, not on a
first-class function: numba needs 0.1 ms to recognise one whenever Python calls a kernel. Weights to predict with are
`FixedRows`.
"""

import numpy as np

from ...kernels import kernel, prefetch
from .numbering import add_row_in_use, fetch_row_in_use

WEIGHTS_OF_A_LINE = 16
"""Weights of 32 bits in a cache line of 64 bytes; for larger ones every second line is fetched."""


@kernel
def value_of(values, f):
    """The value of feature f: `values` as in `Chains`."""
    return values[f] if len(values) else np.float32(1.0)


@kernel
def _fetch_by_row(feature_starts, rows, token, weights, n_labels):
    """Start to fetch the weights of a token's features."""
    for f in range(feature_starts[token], feature_starts[token + 1]):
        block = n_labels * (n_labels + np.int64(rows[f]))
        for first in range(block, block + n_labels, WEIGHTS_OF_A_LINE):
            prefetch(weights, first)


@kernel
def _score_by_row(feature_starts, rows, values, first, end, weights, scores):
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(scores.shape[1])
    for token in range(first, end):
        if token + 1 < end:
            _fetch_by_row(feature_starts, rows, token + 1, weights, scores.shape[1])
        score = scores[token - first]
        score[:] = 0.0
        for f in range(feature_starts[token], feature_starts[token + 1]):
            block = n_labels * (n_labels + np.uint64(rows[f]))
            value = value_of(values, f)
            for label in range(n_labels):
                score[label] += value * weights[block + label]


@kernel
def _score_by_use(feature_starts, rows, values, first, end, numbering, weights, scores):
    begin, first_feature = scores.shape[1] * scores.shape[1], feature_starts[first]
    found = np.empty(feature_starts[end] - first_feature, np.int64)
    for f in range(first_feature, feature_starts[end]):
        found[f - first_feature] = fetch_row_in_use(numbering, rows[f], begin, weights)
    for token in range(first, end):
        score = scores[token - first]
        score[:] = 0.0
        for f in range(feature_starts[token], feature_starts[token + 1]):
            add_row_in_use(numbering, found[f - first_feature], value_of(values, f), begin, weights, score)


@kernel
def _fetch_fixed(feature_starts, rows, token, fixed):
    """Start to fetch the weights of a token's features, and the start of the next token's."""
    for f in range(feature_starts[token], feature_starts[token + 1]):
        row = rows[f]
        for place in range(fixed.starts[row], fixed.starts[row + 1], WEIGHTS_OF_A_LINE):
            prefetch(fixed.entries, place)
    if token + 2 < len(feature_starts):
        for f in range(feature_starts[token + 1], feature_starts[token + 2]):
            prefetch(fixed.starts, np.int64(rows[f]))


@kernel
def score_fixed(feature_starts, rows, values, first, end, fixed, scores):
    """`score_features`, by weights in `FixedRows`."""
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(scores.shape[1])
    for token in range(first, end):
        if token + 2 < len(feature_starts):
            _fetch_fixed(feature_starts, rows, token + 1, fixed)
        score = scores[token - first]
        score[:] = 0.0
        for f in range(feature_starts[token], feature_starts[token + 1]):
            row, value = rows[f], value_of(values, f)
            start, after = np.uint64(fixed.starts[row]), np.uint64(fixed.starts[row + 1])
            if after - start == n_labels:
                for label in range(n_labels):
                    score[label] += value * fixed.entries[start + label]
            else:
                for place in range(start, after, np.uint64(2)):
                    score[np.uint32(fixed.entries[place])] += value * fixed.entries[place + np.uint64(1)]


@kernel
def score_features(numbering, feature_starts, rows, values, first, end, weights, scores):
    """Write wᵀΦ of tokens first … end − 1, a sequence, and each label, from their features alone, to scores [T, L].

    Args:
        numbering, feature_starts, rows, values: as in `Chains`.
        weights: float64 [d].
    """
    if len(numbering.counts) > 0:
        _score_by_use(feature_starts, rows, values, first, end, numbering, weights, scores)
    else:
        _score_by_row(feature_starts, rows, values, first, end, weights, scores)
