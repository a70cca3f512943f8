"""The weights of a linear chain in a model file: sparse rows of label weights, and transitions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from thinc.api import Model

from .model import load_arrays, require, store_arrays

TYPES = {
    "keys": np.uint64,
    "row_starts": np.int64,
    "labels": np.int32,
    "values": np.float32,
    "transitions": np.float32,
}


class Weights(NamedTuple):
    """The weights to predict with.

    keys: uint64 [R], the feature hash of each row; with a hashed index its low bits.
    rows: float32 [R, L], one block of label weights for each row.
    transitions: float32 [L, L], from label i to label j.
    hash_bits: 0 for an exact index.
    """

    keys: np.ndarray
    rows: np.ndarray
    transitions: np.ndarray
    hash_bits: int


def store(model: Model, weights: Weights, labels: Sequence[str]) -> None:
    """Put the weights into the model as sparse rows; rows without a non-zero weight are left out.

    labels: L names; the digest covers them too, and what the features are made of.
    """
    flat = weights.rows.ravel()
    non_zero = np.flatnonzero(flat)
    row, label = np.divmod(non_zero, len(labels))
    used, counts = np.unique(row, return_counts=True)
    arrays = {
        "keys": weights.keys[used],
        "row_starts": np.concatenate([[0], np.cumsum(counts)]),
        "labels": label,
        "values": flat[non_zero],
        "transitions": weights.transitions,
    }
    arrays = {key: np.ascontiguousarray(array, TYPES[key]) for key, array in arrays.items()}
    store_arrays(model, arrays, [len(labels), weights.hash_bits], labels)


def load(model: Model, labels: Sequence[str]) -> Weights:
    """Take the weights out of the model, every shape and index checked.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    n_labels = len(labels)
    arrays, (width, bits) = load_arrays(model, TYPES, 2, labels)
    require(width == n_labels, f"it has weights for {width} labels, but the component has {n_labels}")
    keys, starts, columns, values = (arrays[key] for key in ("keys", "row_starts", "labels", "values"))
    require(arrays["transitions"].shape == (n_labels, n_labels), "its transitions do not fit its labels")
    require(all(array.ndim == 1 for array in (keys, starts, columns, values)), "an array is not flat")
    require(
        len(starts) == len(keys) + 1 and starts[0] == 0 and bool((np.diff(starts) >= 0).all()), "its rows are broken"
    )
    require(len(columns) == len(values) == starts[-1], "its rows are of a wrong length")
    require(not len(columns) or bool(columns.min() >= 0 and columns.max() < n_labels), "a label is out of range")
    require(bool(np.isfinite(values).all() and np.isfinite(arrays["transitions"]).all()), "a weight is not finite")
    require(0 <= bits <= 30, "its hash size is out of range")
    require(not len(keys) or int(keys.min()) > 0, "a feature key is out of range")
    ordered = np.sort(keys)  # NumPy's `unique` takes a quarter of a second
    require(bool((ordered[1:] > ordered[:-1]).all()), "a feature stands there twice")
    require(not bits or not len(keys) or int(keys.max()) <= 1 << bits, "a hashed row is out of range")
    rows = np.zeros((len(keys), n_labels), np.float32)
    rows[np.repeat(np.arange(len(keys)), np.diff(starts)), columns] = values
    return Weights(keys.copy(), rows, arrays["transitions"].copy(), bits)


def join(weights: Weights) -> np.ndarray:
    """Transitions, then rows, as one vector float32 [L·L + R·L]."""
    return np.concatenate([weights.transitions.ravel(), weights.rows.ravel()])


def split(vector: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Transitions [L, L] and rows [R, L] of such a vector."""
    behind = n_labels * n_labels
    return vector[:behind].reshape(n_labels, n_labels), vector[behind:].reshape(-1, n_labels)


def widen(weights: Weights, n_labels: int) -> Weights:
    """The same weights with zeros for labels that have been appended."""
    more = n_labels - len(weights.transitions)
    return weights._replace(
        rows=np.pad(weights.rows, ((0, 0), (0, more))), transitions=np.pad(weights.transitions, ((0, more), (0, more)))
    )


def spread(weights: Weights) -> Weights:
    """Hashed rows at their place among all 2ᵇ, the others zero."""
    n_rows = 1 << weights.hash_bits
    rows = np.zeros((n_rows, weights.rows.shape[1]), np.float32)
    rows[weights.keys - 1] = weights.rows
    return weights._replace(keys=np.arange(1, n_rows + 1, dtype=np.uint64), rows=rows)
