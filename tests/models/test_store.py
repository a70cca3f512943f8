"""Arrays in a model file: what is stored comes back, and nothing else is believed."""

import numpy as np
import pytest

from spacy_ssvm.models import store
from spacy_ssvm.models.store import (
    DIGEST,
    FORMAT,
    SHAPE,
    DamagedModel,
    load_arrays,
    make_model,
    store_arrays,
)

LABELS = ("A", "B", "C")
TYPES = {"some": np.float32, "more": np.uint8}
ARRAYS = {"some": np.array([0.5, -2.0, 7.0], np.float32), "more": np.array([[1, 2], [3, 4]], np.uint8)}
ATTRIBUTES = {"templates": ["bias", "word[0]"], "clusters": {}, "gazetteers": {}}


def new_model():
    return make_model("toy", list(TYPES), ATTRIBUTES)


def stored(exact: bool = True):
    model = new_model()
    store_arrays(model, ARRAYS, [3, -1], LABELS, exact)
    return model


def load(model, labels=LABELS):
    return load_arrays(new_model().from_bytes(model.to_bytes()), TYPES, 2, labels)


@pytest.mark.parametrize("exact", [True, False])
def test_what_is_stored_comes_back(exact):
    model = stored(exact)
    assert store.has_weights(model) and store.is_exact(model) is exact
    arrays, shape = load(model)
    assert shape == [3, -1] and arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == TYPES[name] and np.array_equal(arrays[name], array)
    store.clear(model)
    assert model.to_bytes() == new_model().to_bytes()
    assert not store.has_weights(model) and not store.is_exact(model) and store.digest(model) == b""


@pytest.mark.parametrize("key", [*TYPES, SHAPE, DIGEST])
@pytest.mark.parametrize(
    "change",
    [
        lambda array: None,
        lambda array: array[:-1].copy(),
        lambda array: array[::-1].copy(),
        lambda array: array.astype(np.float64),
        lambda array: np.frombuffer(bytes([array.tobytes()[0] ^ 1]) + array.tobytes()[1:], array.dtype),
    ],
)
def test_an_array_that_was_changed_is_refused(key, change):
    model = stored()
    model.set_param(key, change(model.get_param(key)))
    with pytest.raises(DamagedModel):
        load(model)


@pytest.mark.parametrize("key", [*TYPES, SHAPE, DIGEST])
def test_an_array_that_is_missing_is_named(key):
    model = stored()
    model.set_param(key, None)
    assert store.has_weights(model)
    with pytest.raises(DamagedModel, match=f'"{key}" is missing or of a wrong type'):
        load(model)


def test_an_array_of_another_name_is_refused_and_taken_away():
    model = stored()
    before, state = model.to_bytes(), store.snapshot(model)
    model.set_param("keyz", np.zeros(3, np.uint8))
    with pytest.raises(DamagedModel, match="unknown arrays: keyz"):
        load(model)
    store.restore(model, state)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ([], "shape is incomplete"),
        ([[FORMAT, 1, 3, -1]], "shape is incomplete"),
        ([FORMAT, 1, 3], "shape is incomplete"),
        ([FORMAT, 1, 3, -1, 0], "shape is incomplete"),
        ([FORMAT + 1, 1, 3, -1], "newer version .*upgrade"),
        ([FORMAT - 1, 1, 3, -1], "older version .*train it again"),
        ([FORMAT, 1, 3, -2], "digest does not fit"),
    ],
)
def test_a_shape_that_says_something_else(shape, complaint):
    model = stored()
    model.set_param(SHAPE, np.array(shape, np.int64))
    with pytest.raises(DamagedModel, match=complaint):
        load(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("templates", ["word[0]", "bias"]),
        ("clusters", {"words": np.array([1], np.uint64), "names": ["0"]}),
        ("gazetteers", {"city": [np.zeros(16, np.uint64), np.zeros(16, np.int32), np.zeros(2, np.int64)]}),
    ],
)
def test_the_digest_covers_labels_templates_and_resources(name, value):
    model = stored()
    with pytest.raises(DamagedModel, match="digest"):
        load(model, ("A", "C", "B"))
    model.attrs[name] = value
    with pytest.raises(DamagedModel, match="digest"):
        load(model)


@pytest.mark.parametrize(("weight", "fits"), [(9e29, True), (1.1e30, False), (np.inf, False), (np.nan, False)])
def test_weights_that_can_be_added_up(weight, fits):
    for sign in (1, -1):
        if fits:
            store.require_weights(np.array([0.0, sign * weight]))
        else:
            with pytest.raises(DamagedModel, match="a weight is not finite, or too large"):
                store.require_weights(np.array([0.0, sign * weight]))
