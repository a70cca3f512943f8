"""Rows of label weights without those that are zero: of hundreds of labels, a feature has a weight for a few."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...features.ranges import elements, joined_starts, taken_starts


class SparseRows(NamedTuple):
    """The weights of R feature rows that are not zero.

    starts: int64 [R + 1], the first one of each row. labels: int32 [N], ascending within a row. values: float32 [N].
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
