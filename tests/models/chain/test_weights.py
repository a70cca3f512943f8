"""The weights of a chain in its model file: what is stored comes back, and nothing else is believed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.sets import templates
from spacy_ssvm.models.architectures import chain
from spacy_ssvm.models.chain.rows import dense, sparse_rows
from spacy_ssvm.models.chain.weights import (
    FORMAT,
    FREQUENT,
    TYPES,
    ChainWeights,
    as_vector,
    in_use,
    load,
    spread,
    store,
    widen,
)
from spacy_ssvm.models.packing import MAX_NAME, Packing, deflated, pack_indices, pack_names, pack_numbers, unpack_names
from spacy_ssvm.models.store import DamagedModel, is_exact, store_arrays

LABELS = ("A", "B", "C")


def weights(n_rows=6, n_labels=3, hash_bits=0, seed=0):
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.permutation(np.arange(1, 1 + 2 * max(n_rows, 1), 2, dtype=np.uint64))[:n_rows])
    rows = np.where(rng.random((n_rows, n_labels)) < 0.4, rng.normal(size=(n_rows, n_labels)), 0)
    transitions = rng.normal(size=n_labels * n_labels)
    seen = rng.integers(0, 33, n_rows).astype(np.uint8)
    sparse = sparse_rows(np.flatnonzero(rows), rows[rows != 0], n_rows, n_labels)
    return ChainWeights(keys, transitions.reshape(n_labels, n_labels).astype(np.float32), sparse, hash_bits, seen)


def rows(weights):
    return dense(weights.rows, len(weights.transitions))


def as_dict(weights):
    return {int(key): row.tolist() for key, row in zip(weights.keys, rows(weights)) if row.any()}


def new_model():
    return chain(templates(["bias", "word[0]"]))


def stored(given, n_labels=3, **settings):
    """A model with these weights, from bytes."""
    model = new_model()
    store(model, given, LABELS[:n_labels], **settings)
    return new_model().from_bytes(model.to_bytes())


@given(st.integers(0, 30), st.integers(1, 3), st.sampled_from([0, 6, 30]), st.integers(0))
def test_what_is_stored_comes_back_without_rare_empty_rows(n_rows, n_labels, hash_bits, seed):
    given = weights(n_rows, n_labels, hash_bits, seed)
    model = stored(given, n_labels)
    loaded = load(model, LABELS[:n_labels])
    assert is_exact(model)
    assert as_dict(loaded) == as_dict(given)
    stays = rows(given).any(axis=1) | (given.seen >= FREQUENT)
    assert np.array_equal(loaded.keys, given.keys[stays]) and loaded.hash_bits == hash_bits
    assert np.array_equal(loaded.transitions, given.transitions)
    seen = given.seen[stays]
    assert np.array_equal(loaded.seen, seen) if len(seen) else loaded.seen is None
    arrays = [loaded.keys, loaded.transitions, *loaded.rows]
    assert [array.dtype for array in arrays] == [np.uint64, np.float32, np.int64, np.int32, np.float32]
    assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays)


@given(n_rows=st.integers(1, 30), n_labels=st.integers(1, 3), seed=st.integers(0))
def test_packing_prunes_and_rounds_rows_but_no_transitions(n_rows, n_labels, seed):
    given = weights(n_rows, n_labels, 0, seed)
    model = stored(given, n_labels, packing=Packing("int8", 0.5))
    assert not is_exact(model)
    loaded = load(model, LABELS[:n_labels])
    assert np.array_equal(loaded.transitions, given.transitions)
    before, after = as_dict(given), as_dict(loaded)
    found = [(b, a) for key in after for b, a in zip(before[key], after[key]) if a]
    n_before, n_kept = np.count_nonzero(rows(given)), np.count_nonzero(rows(loaded))
    assert len(found) == n_kept <= np.ceil(n_before / 2)
    step = max(np.abs(rows(given)).max() / 127, min((abs(b) for b, _ in found), default=0))
    assert all(abs(b - a) <= step / 2 * 1.001 for b, a in found)


def test_file_does_not_depend_on_earlier_contents():
    used = new_model()
    store(used, weights(20, seed=1), LABELS)
    store(used, weights(), LABELS)
    assert used.to_bytes() == stored(weights()).to_bytes()


def test_rows_in_use_are_those_with_weights_in_the_order_of_their_keys():
    given, order = weights(20), np.random.default_rng(2).permutation(20)
    learnt = np.concatenate([given.transitions.ravel(), rows(given)[order].ravel()]).astype(np.float64)
    indices = np.flatnonzero(learnt)
    found = in_use(indices, learnt[indices], given.keys[order], 0, 3, given.seen[order])
    assert found.rows.values.dtype == np.float32 and (np.diff(found.keys) > 0).all()
    assert as_dict(found) == as_dict(given) and rows(found).any(axis=1).all()
    assert found.seen.tolist() == given.seen[rows(given).any(axis=1)].tolist()
    assert np.array_equal(found.transitions, given.transitions)


def test_size_counts_the_weights_of_both_passes():
    first, second = weights(5, 2), weights(20)
    vectors = as_vector(first), as_vector(second)
    expected = sum(map(np.count_nonzero, vectors)), sum(map(len, vectors))
    assert second._replace(first_pass=first).size() == expected
    assert first.size() == (np.count_nonzero(vectors[0]), len(vectors[0]))


def test_widen_appends_labels():
    given = weights()
    wider = widen(given, 5)
    assert np.array_equal(rows(wider)[:, :3], rows(given)) and not rows(wider)[:, 3:].any()
    assert np.array_equal(wider.transitions[:3, :3], given.transitions)
    assert not wider.transitions[3:].any() and not wider.transitions[:, 3:].any()
    assert np.array_equal(as_vector(widen(given, 3)), as_vector(given))


def test_spread_puts_hashed_rows_back():
    given = weights(hash_bits=5)
    full = spread(given)
    assert full.keys.tolist() == list(range(1, 33)) and rows(full).shape == (32, 3)
    assert as_dict(full) == as_dict(given) and np.array_equal(full.transitions, given.transitions)
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
    arrays |= {key: change(arrays[key]) for key, change in changes.items()}
    store_arrays(model, arrays, [width, bits], LABELS, version=FORMAT)
    return model


def put(value):
    """Transitions of this weight."""
    return lambda array: deflated(np.where(np.eye(3), np.float32(value), np.float32(0)).ravel())


ONE_INFINITE = {
    "indices": lambda array: pack_indices(np.array([2])),
    "values": lambda array: deflated(np.full(1, np.inf, np.float32)),
}


def test_crafting_alone_changes_nothing():
    assert as_dict(load(crafted({}), LABELS)) == as_dict(weights())


@pytest.mark.parametrize(
    ("changes", "shape", "complaint"),
    [
        ({}, {"width": 2}, "weights for 2 labels, but the component has 3"),
        ({}, {"bits": -1}, "hash size"),
        ({}, {"bits": 31}, "hash size"),
        ({}, {"bits": 2}, "index is out of range"),
        ({"transitions": lambda a: a[:2]}, {}, "inflated|wrong length"),
        ({"transitions": lambda a: deflated(np.ones(5, np.float32))}, {}, "transitions do not fit its labels"),
        ({"transitions": lambda a: deflated(np.ones(4, np.float32))}, {}, "transitions do not fit its labels"),
        ({"transitions": lambda a: deflated(np.ones(16, np.float32))}, {}, "wrong length"),
        ({"seen": lambda a: pack_numbers(np.zeros(1, np.uint8))}, {}, "wrong length"),
        ({"seen": lambda a: a[:1]}, {}, "inflated|wrong length"),
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
        ({"transitions": lambda a: np.ones((3, 3), np.float32)}, {}, "missing or of a wrong type"),
        ({"corrected_indices": lambda a: pack_indices(np.array([99]))}, {}, "index is out of range"),
        ({"corrected_indices": lambda a: pack_indices(np.arange(2))}, {}, "not as many as their indices"),
        ({"corrected_values": lambda a: deflated(np.ones(1, np.float32))}, {}, "not as many as their indices"),
        ({"corrected_scales": lambda a: np.ones(1, np.float32)}, {}, "scales are not as many"),
        ({f"corrected_{name}": change for name, change in ONE_INFINITE.items()}, {}, "not finite"),
    ],
)
def test_file_that_contradicts_itself_is_refused(changes, shape, complaint):
    with pytest.raises(DamagedModel, match=complaint):
        load(crafted(changes, **shape), LABELS)
