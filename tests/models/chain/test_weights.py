"""The weights of a chain in its model file: what is stored comes back, and nothing else is believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.sets import templates
from spacy_ssvm.models.architectures import chain
from spacy_ssvm.models.chain.weights import (
    MAX_NAME,
    TYPES,
    ChainWeights,
    in_use,
    load,
    pack_names,
    split,
    spread,
    store,
    unpack_names,
    widen,
)
from spacy_ssvm.models.packing import Packing, pack_indices, pack_numbers
from spacy_ssvm.models.store import DamagedModel, is_exact, store_arrays

LABELS = ("A", "B", "C")


def weights(n_rows=6, n_labels=3, hash_bits=0, seed=0):
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.permutation(np.arange(1, 1 + 2 * max(n_rows, 1), 2, dtype=np.uint64))[:n_rows])
    rows = np.where(rng.random((n_rows, n_labels)) < 0.4, rng.normal(size=(n_rows, n_labels)), 0)
    transitions = rng.normal(size=n_labels * n_labels)
    seen = rng.integers(0, 33, n_rows).astype(np.uint8)
    return ChainWeights(keys, np.concatenate([transitions, rows.ravel()]).astype(np.float32), hash_bits, seen)


def transitions(weights, n_labels=3):
    return split(weights.vector, n_labels)[0]


def rows(weights, n_labels=3):
    return split(weights.vector, n_labels)[1]


def as_dict(weights, n_labels=3):
    return {int(key): row.tolist() for key, row in zip(weights.keys, rows(weights, n_labels)) if row.any()}


def new_model():
    return chain(templates(["bias", "word[0]"]))


def stored(given, n_labels=3, **settings):
    """A model with these weights, from bytes."""
    model = new_model()
    store(model, given, LABELS[:n_labels], **settings)
    return new_model().from_bytes(model.to_bytes())


@given(st.integers(0, 30), st.integers(1, 3), st.sampled_from([0, 6, 30]), st.integers(0))
def test_what_is_stored_comes_back_without_empty_rows(n_rows, n_labels, hash_bits, seed):
    given = weights(n_rows, n_labels, hash_bits, seed)
    model = stored(given, n_labels)
    loaded = load(model, LABELS[:n_labels])
    assert is_exact(model)
    assert as_dict(loaded, n_labels) == as_dict(given, n_labels)
    assert len(loaded.keys) == len(as_dict(given, n_labels)) and loaded.hash_bits == hash_bits
    assert np.array_equal(transitions(loaded, n_labels), transitions(given, n_labels))
    seen = given.seen[rows(given, n_labels).any(axis=1)]
    assert np.array_equal(loaded.seen, seen) if len(seen) else loaded.seen is None
    assert [array.dtype for array in loaded[:2]] == [np.uint64, np.float32]
    assert all(array.flags.writeable and array.flags.c_contiguous for array in loaded[:2])


@given(n_rows=st.integers(1, 30), n_labels=st.integers(1, 3), seed=st.integers(0))
def test_packing_prunes_and_rounds_rows_but_no_transitions(n_rows, n_labels, seed):
    given = weights(n_rows, n_labels, 0, seed)
    model = stored(given, n_labels, packing=Packing("int8", 0.5))
    assert not is_exact(model)
    loaded = load(model, LABELS[:n_labels])
    assert np.array_equal(transitions(loaded, n_labels), transitions(given, n_labels))
    before, after = as_dict(given, n_labels), as_dict(loaded, n_labels)
    found = [(b, a) for key in after for b, a in zip(before[key], after[key]) if a]
    n_before, n_kept = np.count_nonzero(rows(given, n_labels)), np.count_nonzero(rows(loaded, n_labels))
    assert len(found) == n_kept <= np.ceil(n_before / 2)
    largest = np.abs(rows(given, n_labels)).max()
    assert all(abs(b - a) <= largest / 254 * 1.001 for b, a in found)


def test_file_does_not_depend_on_earlier_contents():
    used = new_model()
    store(used, weights(20, seed=1), LABELS)
    store(used, weights(), LABELS)
    assert used.to_bytes() == stored(weights()).to_bytes()


def test_rows_in_use_are_those_with_weights_in_the_order_of_their_keys():
    given, order = weights(20), np.random.default_rng(2).permutation(20)
    learnt = np.concatenate([transitions(given).ravel(), rows(given)[order].ravel()]).astype(np.float64)
    indices = np.flatnonzero(learnt)
    found = in_use(indices, learnt[indices], given.keys[order], 0, 3, given.seen[order])
    assert found.vector.dtype == np.float32 and (np.diff(found.keys) > 0).all()
    assert as_dict(found) == as_dict(given) and rows(found).any(axis=1).all()
    assert found.seen.tolist() == given.seen[rows(given).any(axis=1)].tolist()
    assert np.array_equal(transitions(found), transitions(given))


@given(n_rows=st.integers(0, 8), n_labels=st.integers(1, 4))
def test_split_gives_views_and_rows_come_last(n_rows, n_labels):
    given = weights(n_rows, n_labels)
    first, blocks = split(given.vector, n_labels)
    assert first.shape == (n_labels, n_labels) and blocks.shape == (n_rows, n_labels)
    assert np.array_equal(np.concatenate([first.ravel(), blocks.ravel()]), given.vector)
    first[0, 0] = 7
    assert given.vector[0] == 7


def test_widen_appends_labels():
    given = weights()
    wider = widen(given, 3, 5)
    assert np.array_equal(rows(wider, 5)[:, :3], rows(given)) and not rows(wider, 5)[:, 3:].any()
    assert np.array_equal(transitions(wider, 5)[:3, :3], transitions(given))
    assert not transitions(wider, 5)[3:].any() and not transitions(wider, 5)[:, 3:].any()
    assert all(np.array_equal(a, b) for a, b in zip(widen(given, 3, 3), given))


def test_spread_puts_hashed_rows_back():
    given = weights(hash_bits=5)
    full = spread(given, 3)
    assert full.keys.tolist() == list(range(1, 33)) and rows(full).shape == (32, 3)
    assert as_dict(full) == as_dict(given) and np.array_equal(transitions(full), transitions(given))
    assert as_dict(load(stored(full), LABELS)) == as_dict(given)


@pytest.mark.parametrize("character", ["a", "é", "漢", "𐀀"])
@pytest.mark.parametrize("n_rows", [0, 1, 20])
def test_the_longest_names_come_back(character, n_rows):
    """Those of characters of four bytes come closest to the number of bytes that is allowed."""
    longest = character * MAX_NAME
    assert unpack_names(pack_names([longest + "b"] * n_rows), n_rows) == (longest,) * n_rows


def crafted(changes, width=3, bits=4):
    """A model whose digest is right, and in which arrays are replaced."""
    model = stored(weights(hash_bits=4))
    arrays = {key: model.get_param(key) for key in TYPES}
    store_arrays(model, arrays | {key: change(arrays[key]) for key, change in changes.items()}, [width, bits], LABELS)
    return model


def put(value):
    """A transition of this weight."""
    return lambda array: np.where(np.eye(3), np.float32(value), array)


def test_crafting_alone_changes_nothing():
    assert as_dict(load(crafted({}), LABELS)) == as_dict(weights())


@pytest.mark.parametrize(
    ("changes", "shape", "complaint"),
    [
        ({}, {"width": 2}, "weights for 2 labels, but the component has 3"),
        ({}, {"bits": -1}, "hash size"),
        ({}, {"bits": 31}, "hash size"),
        ({}, {"bits": 2}, "index is out of range"),
        ({"transitions": lambda a: a[:2]}, {}, "transitions"),
        ({"seen": lambda a: pack_numbers(np.zeros(1, np.uint8))}, {}, "wrong length"),
        ({"seen": lambda a: a[:1]}, {}, "inflated|wrong length"),
        ({"transitions": lambda a: a.ravel()}, {}, "transitions"),
        ({"transitions": put(np.inf)}, {}, "weight is not finite"),
        ({"transitions": put(1e35)}, {}, "too large to be added up"),
        ({"keys": lambda a: a[None]}, {}, "unknown type"),
        ({"keys": lambda a: a[:-3]}, {}, "wrong length"),
        ({"keys": lambda a: pack_indices(np.arange(5))}, {}, "feature key is out of range"),
        ({"keys": lambda a: pack_indices(np.array([1, 18]))}, {}, "index is out of range"),
        ({"keys": lambda a: pack_indices(np.array([1]))}, {}, "wrong length"),
        ({"indices": lambda a: pack_indices(np.array([0, 99]))}, {}, "index is out of range"),
        ({"indices": lambda a: pack_indices(np.arange(2))}, {}, "not as many as their indices"),
        ({"values": lambda a: pack_indices(np.arange(2))}, {}, "not as many as their indices"),
        ({"scales": lambda a: np.ones(1, np.float32)}, {}, "scales are not as many"),
    ],
)
def test_file_that_contradicts_itself_is_refused(changes, shape, complaint):
    with pytest.raises(DamagedModel, match=complaint):
        load(crafted(changes, **shape), LABELS)
