"""Rows of label weights: sparse ones, as stored, and ones laid out for prediction.

A feature has weights for a few of hundreds of labels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...growth import elements, joined_starts, taken_starts
from ...kernels import Float32Array, Int64Array, kernel

FULL = 8
"""Rows in which more than one in so many weights is not zero are full: read from end to end. It is at least 3, so that
other rows have fewer numbers than full ones."""


class SparseRows(NamedTuple):
    """The weights of R feature rows that are not zero.

    Attributes:
        starts: int64 [R + 1], the first one of each row.
        labels: int32 [N], ascending within a row.
        values: float32 [N].
    """

    starts: np.ndarray
    labels: np.ndarray
    values: np.ndarray


NO_ROWS = SparseRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


def sparse_rows(indices: np.ndarray, values: np.ndarray, n_rows: int, n_labels: int) -> SparseRows:
    """Rows of these weights, float [N], at indices row · L + label, int64 [N], ascending.

    Values that are zero in single precision are left out.
    """
    values = values.astype(np.float32, copy=False)
    is_used = values != 0
    if not is_used.all():
        indices, values = indices[is_used], values[is_used]
    starts = np.searchsorted(indices, n_labels * np.arange(n_rows + 1))
    return SparseRows(starts, (indices % max(n_labels, 1)).astype(np.int32), values)


def indices_of(rows: SparseRows, n_labels: int) -> np.ndarray:
    """The indices row · L + label of the weights, int64 [N], ascending: the inverse of `sparse_rows`."""
    return np.repeat(n_labels * np.arange(len(rows.starts) - 1), np.diff(rows.starts)) + rows.labels


def taken(rows: SparseRows, chosen: np.ndarray) -> SparseRows:
    """The chosen rows, int64, in this order."""
    places = elements(rows.starts, chosen)
    return SparseRows(taken_starts(rows.starts, chosen), rows.labels[places], rows.values[places])


def joined_rows(parts: Sequence[SparseRows]) -> SparseRows:
    """The rows of all parts, one part after the other."""
    starts = joined_starts([part.starts for part in parts])
    labels, values = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts)))
    return SparseRows(starts, labels, values)


def dense(rows: SparseRows, n_labels: int) -> np.ndarray:
    """All weights, float32 [R, L]."""
    weights = np.zeros((len(rows.starts) - 1, n_labels), np.float32)
    weights.reshape(-1)[indices_of(rows, n_labels)] = rows.values
    return weights


class FixedRows(NamedTuple):
    """The weights of R feature rows and L labels.

    Attributes:
        starts: int64 [R + 1], where each row begins.
        entries: float32. A full row has its L weights. Any other row has label and value of each non-zero weight, in
            turn. Numbers that are read together are stored together.
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
    """Write the weights of `SparseRows` to the entries of `fixed`, which are 0 before."""
    for row in range(len(starts) - 1):
        first = fixed.starts[row]
        is_full = fixed.starts[row + 1] - first == n_labels
        for k in range(starts[row], starts[row + 1]):
            if is_full:
                fixed.entries[first + labels[k]] = values[k]
            else:
                place = first + 2 * (k - starts[row])
                fixed.entries[place], fixed.entries[place + 1] = labels[k], values[k]
