"""Weights as plain arrays in a thinc Model: the common part of the model files of all structures."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import srsly
from thinc.api import Model, NumpyOps

FORMAT = 1
"""Version of the model file of a structure that names none; no other one is read."""

MAX_WEIGHT = 1e30
"""Weights that are saved must be smaller than this, so that sums of weights do not overflow."""

ROUNDING = 1e-6
"""By how much a weight may have become larger in a file, relatively: scales are in single precision."""

SHAPE, DIGEST = "shape", "digest"

NAMES = "names"
"""The attribute with the names of features, which are stored on request only."""


class DamagedModel(ValueError):
    """A model file that cannot be trusted."""


class Saved(NamedTuple):
    """The file from which training has started.

    Attributes:
        arrays: of the model, checked.
        are_corrected: whether training has been corrections, which keep all other weights of the file.
    """

    arrays: Mapping[str, np.ndarray]
    are_corrected: bool

    @property
    def are_exact(self) -> bool:
        """Whether the weights that a solver has left are neither pruned nor rounded in it."""
        return _are_exact(self.arrays)


def make_model(name: str, parameters: Sequence[str], attributes: dict[str, object]) -> Model:
    """A thinc Model without weights.

    Args:
        parameters: names of its arrays; a shape and a digest are added.
        attributes: stored in the model file; "features", the feature set of the config, is used for initialisation only
            and may be anything.
    """
    return Model(
        name, _forward, attrs=dict(attributes), params=dict.fromkeys([*parameters, SHAPE, DIGEST]), ops=NumpyOps()
    )


def _forward(model: Model, docs: object, is_train: bool) -> object:
    raise NotImplementedError(
        f"{model.name} holds weights only, so there are no layers to run on Docs, and nothing more for `spacy debug "
        "model` to check: predictions come from the component's own predict. `spacy ssvm evaluate` shows the scores of "
        "a trained pipeline, and the component's explain the features behind a prediction"
    )


def store_arrays(
    model: Model,
    arrays: Mapping[str, np.ndarray],
    shape: Sequence[int],
    labels: Sequence[str],
    exact: bool = True,
    version: int = FORMAT,
) -> None:
    """Store all arrays in the model, with a digest and their shape, as defined by the structure.

    Args:
        labels: of the component. The digest covers the labels and the model's attributes, too.
        exact: whether the arrays hold the weights as learnt, neither pruned nor rounded.
        version: the format.
    """
    complete = {**arrays, SHAPE: np.array([version, exact, *shape], np.int64)}
    complete[DIGEST] = _digest(model, complete, labels)
    for key, array in complete.items():
        model.set_param(key, cast(Any, np.ascontiguousarray(array)))


def load_arrays(
    model: Model, types: Mapping[str, Any], n_shape: int, labels: Sequence[str], version: int = FORMAT
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Read the arrays of the model, and the n_shape numbers of their shape.

    Args:
        types: name → dtype, or its possible dtypes.
        version: the format that is read.

    Raises:
        DamagedModel: the digest does not match, or an array is missing or of a wrong type.
    """
    shape = _array(model, SHAPE, np.int64)
    unknown = sorted(set(model.param_names) - {*types, SHAPE, DIGEST})
    require(not unknown, f"it has unknown arrays: {', '.join(unknown)}")
    require(shape.ndim == 1 and len(shape) > 0, "its shape is incomplete")
    found = int(shape[0])
    require(found <= version, f"it was written by a newer version (format {found}): upgrade spacy-ssvm")
    require(
        found == version,
        f"it was written by an older version (format {found}): train it again, or use the version that wrote it",
    )
    require(len(shape) == n_shape + 2, "its shape is incomplete")
    arrays = {key: _array(model, key, dtype) for key, dtype in {**types, SHAPE: np.int64, DIGEST: np.uint64}.items()}
    if not np.array_equal(arrays.pop(DIGEST), _digest(model, arrays, labels)):
        raise DamagedModel("its digest does not fit its contents: the file was changed or damaged")
    del arrays[SHAPE]
    return arrays, [int(number) for number in shape[2:]]


def clear(model: Model) -> None:
    """Remove all weights from the model, and the names of their features."""
    for parameter in model.param_names:
        model.set_param(parameter, None)
    model.attrs.pop(NAMES, None)


def snapshot(model: Model) -> dict[str, Any]:
    """The model's current state, for `restore`."""
    parameters = {key: model.get_param(key) if model.has_param(key) else None for key in model.param_names}
    return {"name": model.name, "attrs": dict(model.attrs), "parameters": parameters}


def restore(model: Model, state: dict[str, Any]) -> None:
    """Restore the state of the model that `snapshot` has returned."""
    model.name = state["name"]
    model.attrs.clear()
    model.attrs.update(state["attrs"])
    for key in model.param_names:
        if key in state["parameters"]:
            model.set_param(key, state["parameters"][key])
        else:
            # The name was read from a file and is unknown; thinc has no method to remove it.
            del model._has_params[key]


def has_weights(model: Model) -> bool:
    """Whether any arrays were stored or loaded."""
    return any(model.has_param(parameter) for parameter in model.param_names)


def arrays_of(model: Model) -> dict[str, np.ndarray]:
    """All arrays that were stored or loaded; they are not copied."""
    return {key: cast(np.ndarray, model.get_param(key)) for key in model.param_names if model.has_param(key)}


def twin(model: Model) -> Model:
    """A model with the same attributes, without weights."""
    parameters = [key for key in model.param_names if key not in (SHAPE, DIGEST)]
    return make_model(model.name, parameters, {key: model.attrs[key] for key in model.attrs if key != NAMES})


def is_exact(model: Model) -> bool:
    """Whether the arrays hold the weights as learnt, neither pruned nor rounded."""
    return _are_exact(arrays_of(model))


def _are_exact(arrays: Mapping[str, np.ndarray]) -> bool:
    shape = arrays.get(SHAPE)
    return shape is not None and len(shape) > 1 and bool(shape[1])


def digest(model: Model) -> bytes:
    """The digest of the model's arrays; empty if there are none."""
    return bytes(cast(Any, model.get_param(DIGEST)).tobytes()) if model.has_param(DIGEST) else b""


def require(holds: bool, complaint: str) -> None:
    """Raise DamagedModel unless a condition holds."""
    if not holds:
        raise DamagedModel(complaint)


def require_weights(weights: np.ndarray) -> None:
    """Raise DamagedModel unless all weights are finite, and small enough that scores cannot overflow."""
    fits = bool(_largest(weights) < MAX_WEIGHT * (1 + ROUNDING))
    require(fits, "a weight is not finite, or too large to be added up")


def require_savable(weights: np.ndarray) -> None:
    """Raise a ValueError unless all weights, float, can be saved and loaded again."""
    if not _largest(weights) < MAX_WEIGHT:
        # The first one that is too large, or no number.
        value = weights[~(np.abs(weights) < MAX_WEIGHT)][0]
        raise ValueError(
            f"a weight is {value:.6g} in single precision, which cannot be loaded again: weights must be finite and "
            f"less than {MAX_WEIGHT:g} in magnitude. If the solver has diverged, use other parameters, or smaller "
            "values of features"
        )


def _largest(weights: np.ndarray) -> float:
    return float(max(weights.max(initial=0), -weights.min(initial=0)))


def _array(model: Model, key: str, dtype: Any) -> np.ndarray:
    array = model.get_param(key) if model.has_param(key) else None
    types = dtype if isinstance(dtype, tuple) else (dtype,)
    if not isinstance(array, np.ndarray) or array.dtype not in types:
        raise DamagedModel(f'its array "{key}" is missing or of a wrong type')
    return array


def _digest(model: Model, arrays: Mapping[str, np.ndarray], labels: Sequence[str]) -> np.ndarray:
    read = [model.attrs[name] for name in sorted(model.attrs) if name != "features"]
    digest = hashlib.sha256(srsly.msgpack_dumps([list(labels), *read]))
    for key in sorted(arrays):
        digest.update(f"{key} {arrays[key].dtype} {arrays[key].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[key]).reshape(-1).data)
    return np.array(np.frombuffer(digest.digest(), np.uint64))
