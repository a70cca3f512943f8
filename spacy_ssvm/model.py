"""The weights of a component as plain arrays in a thinc Model: packing, validation, digest."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import srsly
from thinc.api import Model, NumpyOps

FORMAT = 1
_TYPES = {
    "keys": np.uint64,
    "row_starts": np.int64,
    "labels": np.int32,
    "values": np.float32,
    "transitions": np.float32,
    "shape": np.int64,
    "digest": np.uint64,
}
PARAMETERS = tuple(_TYPES)


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


class DamagedModel(ValueError):
    """A model file that cannot be trusted."""


def make_model(name: str, attributes: dict[str, object]) -> Model:
    """A thinc Model without weights; `attributes` are kept in the model file."""
    return Model(
        name,
        _forward,
        attrs=dict(attributes),
        params=dict.fromkeys(PARAMETERS),
        ops=NumpyOps(),
    )


def _forward(model: Model, docs: object, is_train: bool) -> object:
    raise NotImplementedError(f"{model.name} holds weights only; call the component's predict")


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
        "shape": np.array([FORMAT, len(labels), weights.hash_bits]),
    }
    arrays = {key: np.ascontiguousarray(array, _TYPES[key]) for key, array in arrays.items()}
    arrays["digest"] = _digest(model, arrays, labels)
    for key, array in arrays.items():
        model.set_param(key, array)


def clear(model: Model) -> None:
    """Take all weights out of the model."""
    for parameter in PARAMETERS:
        model.set_param(parameter, None)


def snapshot(model: Model) -> dict[str, Any]:
    """What `restore` needs to bring the model back to its present state."""
    parameters = {key: model.get_param(key) if model.has_param(key) else None for key in PARAMETERS}
    return {"attrs": dict(model.attrs), "parameters": parameters}


def restore(model: Model, state: dict[str, Any]) -> None:
    """Bring the model back to what it was when `snapshot` was taken."""
    model.attrs.clear()
    model.attrs.update(state["attrs"])
    for key, value in state["parameters"].items():
        model.set_param(key, value)


def has_weights(model: Model) -> bool:
    """Whether `store` or a model file has filled the model, if only in part."""
    return any(model.has_param(parameter) for parameter in PARAMETERS)


def load(model: Model, labels: Sequence[str]) -> Weights:
    """Take the weights out of the model, every shape and index checked.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    n_labels = len(labels)
    arrays: dict[str, np.ndarray] = {}
    for key, dtype in _TYPES.items():
        array = model.get_param(key) if model.has_param(key) else None
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise DamagedModel(f'its array "{key}" is missing or of a wrong type')
        arrays[key] = array
    shape = arrays["shape"]
    _require(shape.shape == (3,), "its shape has not three entries")
    _require(int(shape[0]) <= FORMAT, f"it was written by a newer version (format {int(shape[0])}): upgrade spacy-ssvm")
    _require(int(shape[1]) == n_labels, f"it has weights for {int(shape[1])} labels, but the component has {n_labels}")
    if not np.array_equal(arrays.pop("digest"), _digest(model, arrays, labels)):
        raise DamagedModel("its digest does not fit its contents: the file was changed or damaged")
    keys, starts, columns, values = (arrays[key] for key in ("keys", "row_starts", "labels", "values"))
    _require(arrays["transitions"].shape == (n_labels, n_labels), "its transitions do not fit its labels")
    _require(all(array.ndim == 1 for array in (keys, starts, columns, values)), "an array is not flat")
    _require(
        len(starts) == len(keys) + 1 and starts[0] == 0 and bool((np.diff(starts) >= 0).all()), "its rows are broken"
    )
    _require(len(columns) == len(values) == starts[-1], "its rows are of a wrong length")
    _require(not len(columns) or bool(columns.min() >= 0 and columns.max() < n_labels), "a label is out of range")
    _require(bool(np.isfinite(values).all() and np.isfinite(arrays["transitions"]).all()), "a weight is not finite")
    bits = int(shape[2])
    _require(0 <= bits <= 30, "its hash size is out of range")
    _require(not len(keys) or int(keys.min()) > 0, "a feature key is out of range")
    _require(len(np.unique(keys)) == len(keys), "a feature stands there twice")
    _require(not bits or not len(keys) or int(keys.max()) <= 1 << bits, "a hashed row is out of range")
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


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise DamagedModel(complaint)


def _digest(model: Model, arrays: dict[str, np.ndarray], labels: Sequence[str]) -> np.ndarray:
    read = [model.attrs[name] for name in ("templates", "gazetteers", "clusters")]
    digest = hashlib.sha256(srsly.msgpack_dumps([list(labels), *read]))
    for key in sorted(arrays):
        digest.update(f"{key} {arrays[key].dtype} {arrays[key].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[key]).tobytes())
    return np.array(np.frombuffer(digest.digest(), np.uint64))
