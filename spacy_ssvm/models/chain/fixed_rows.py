"""Rows of label weights for prediction: those with many weights are read from end to end, others entry by entry."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float32Array, Float32Array2d, Int32Array, Int64Array, kernel, prefetch
from .data import value_of
from .sparse_rows import SparseRows, dense, taken

FULL = 8
"""Rows in which more than one in so many weights is not zero are read from end to end."""


class FixedRows(NamedTuple):
    """The weights of R feature rows and L labels.

    starts, labels, values: of all but full rows, as in `SparseRows`. full: int32 [R], the place of a row among
    full_rows, float32 [F, L], which are those with many weights, or -1.
    """

    starts: Int64Array
    labels: Int32Array
    values: Float32Array
    full: Int32Array
    full_rows: Float32Array2d


def fixed_rows(rows: SparseRows, n_labels: int) -> FixedRows:
    """The same weights for prediction."""
    sizes = np.diff(rows.starts)
    is_full = sizes * FULL > n_labels
    full = np.where(is_full, np.cumsum(is_full) - 1, -1).astype(np.int32)
    is_sparse = np.repeat(~is_full, sizes)
    starts = np.concatenate([[0], np.cumsum(np.where(is_full, 0, sizes))])
    full_rows = dense(taken(rows, np.flatnonzero(is_full)), n_labels)
    return FixedRows(starts, rows.labels[is_sparse], rows.values[is_sparse], full, full_rows)


@kernel
def _fetch(chains, rows, token):
    """Start to fetch the weights of a token's features."""
    for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
        start = rows.starts[chains.rows[f]]
        prefetch(rows.labels, start)
        prefetch(rows.values, start)


@kernel
def score_by_rows(chains, rows, token, score):
    """Write wᵀΦ of a token and each label, from its own weights alone, to score, float64 [L]."""
    score[:] = 0.0
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(len(score))
    if token + 2 < len(chains.feature_starts):
        _fetch(chains, rows, token + 1)
    for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
        row, value = chains.rows[f], value_of(chains.values, f)
        full = rows.full[row]
        if full >= 0:
            block = rows.full_rows[full]
            for label in range(n_labels):
                score[label] += value * block[label]
        for k in range(rows.starts[row], rows.starts[row + 1]):
            score[np.uint64(rows.labels[k])] += value * rows.values[k]
