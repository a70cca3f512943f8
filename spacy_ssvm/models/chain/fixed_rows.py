"""Rows of label weights for prediction: those with many weights are read from end to end, others entry by entry."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float32Array, Int64Array, kernel, prefetch
from .data import value_of
from .scores import WEIGHTS_OF_A_LINE
from .sparse_rows import SparseRows

FULL = 8
"""Rows in which more than one in so many weights is not zero are full: read from end to end. It is at least 3, so that
other rows have fewer numbers than full ones."""


class FixedRows(NamedTuple):
    """The weights of R feature rows and L labels.

    starts: int64 [R + 1], where each row begins. entries: float32. A full row has its L weights. Any other row has the
    label and the value of each weight that is not zero, in turn. What is read together lies together.
    """

    starts: Int64Array
    entries: Float32Array


def fixed_rows(rows: SparseRows, n_labels: int) -> FixedRows:
    """Weights of rows in the layout for prediction."""
    sizes = np.diff(rows.starts)
    starts = np.concatenate([[0], np.cumsum(np.where(sizes * FULL > n_labels, n_labels, 2 * sizes))])
    fixed = FixedRows(starts, np.zeros(starts[-1], np.float32))
    _write(rows.starts, rows.labels, rows.values, n_labels, fixed)
    return fixed


@kernel
def _write(starts, labels, values, n_labels, fixed):
    """Write the weights of `SparseRows` to the entries, which are 0."""
    for row in range(len(starts) - 1):
        first = fixed.starts[row]
        is_full = fixed.starts[row + 1] - first == n_labels
        for k in range(starts[row], starts[row + 1]):
            if is_full:
                fixed.entries[first + labels[k]] = values[k]
            else:
                place = first + 2 * (k - starts[row])
                fixed.entries[place], fixed.entries[place + 1] = labels[k], values[k]


@kernel
def _fetch(feature_starts, feature_rows, token, rows):
    """Start to fetch the weights of a token's features, and where those of the token after it begin."""
    for f in range(feature_starts[token], feature_starts[token + 1]):
        row = feature_rows[f]
        for place in range(rows.starts[row], rows.starts[row + 1], WEIGHTS_OF_A_LINE):
            prefetch(rows.entries, place)
    if token + 2 < len(feature_starts):
        for f in range(feature_starts[token + 1], feature_starts[token + 2]):
            prefetch(rows.starts, np.int64(feature_rows[f]))


@kernel
def score_by_rows(feature_starts, feature_rows, values, token, rows, score):
    """Write wᵀΦ of a token and each label, from its features alone, to score, float64 [L].

    feature_starts, feature_rows, values: as in `Chains`. rows: `FixedRows`.
    """
    score[:] = 0.0
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(len(score))
    if token + 2 < len(feature_starts):
        _fetch(feature_starts, feature_rows, token + 1, rows)
    for f in range(feature_starts[token], feature_starts[token + 1]):
        row, value = feature_rows[f], value_of(values, f)
        start, end = np.uint64(rows.starts[row]), np.uint64(rows.starts[row + 1])
        if end - start == n_labels:
            for label in range(n_labels):
                score[label] += value * rows.entries[start + label]
        else:
            for place in range(start, end, np.uint64(2)):
                score[np.uint32(rows.entries[place])] += value * rows.entries[place + np.uint64(1)]
