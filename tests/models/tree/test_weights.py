"""A parser's weights in its model file: what goes in comes out, and nothing else is taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.features.arc_sets import arc_templates
from spacy_ssvm.models.architectures import tree
from spacy_ssvm.models.layers import NO_ENTRIES, pack_corrected
from spacy_ssvm.models.packing import Packing, Sparse, masked, pack, pack_bits, pack_masked, pack_numbers
from spacy_ssvm.models.store import DamagedModel, is_exact, store_arrays
from spacy_ssvm.models.tree.data import in_steps, masked_in_steps
from spacy_ssvm.models.tree.weights import FORMAT, SEEN, TreeWeights, load, store, widen

LABELS = ("ROOT", "nsubj", "obj")
UNCORRECTED = pack_corrected("", NO_ENTRIES) | pack_corrected("first_pass_", NO_ENTRIES)
SPARSE = st.one_of(st.just(np.float32(0)), st.floats(-10, 10, width=32).map(np.float32))


def model():
    return tree(arc_templates(["head.lower[0]"], ["mod.lower[0]"], ["mod.lower[0]"], hash_bits=8, label_hash_bits=8))


def weights(n_trees: int = 7, n_first_pass: int = 4) -> TreeWeights:
    rng = np.random.default_rng(0)
    trees, first_pass = (rng.normal(size=n).astype(np.float32) for n in (n_trees, n_first_pass))
    trees[::3] = 0
    return TreeWeights(masked(trees), first_pass, pack_numbers(rng.integers(0, 33, 5).astype(np.uint8)))


@given(trees=arrays(np.float32, st.integers(0, 40), elements=SPARSE), pruned=st.booleans(), data=st.data())
def test_round_trip(trees, pruned, data):
    first_pass = data.draw(arrays(np.float32, 16 if pruned else 0, elements=SPARSE))
    holder = model()
    store(holder, TreeWeights(masked(trees), first_pass), LABELS)
    again = load(model().from_bytes(holder.to_bytes()), LABELS, len(trees), (0, 16))
    for before, after in zip((trees, first_pass), (again.trees.dense(), again.first_pass)):
        assert after.dtype == np.float32
        assert np.array_equal(before, after)


@given(data=st.data(), n_arcs=st.sampled_from([0, 8, 16]), n_rows=st.integers(0, 4), n_labels=st.integers(1, 130))
def test_steps_are_those_of_the_dense_vector(data, n_arcs, n_rows, n_labels):
    dense = data.draw(arrays(np.float32, n_arcs + n_rows * n_labels, elements=SPARSE))
    expected, found = in_steps(dense, n_arcs, n_labels), masked_in_steps(masked(dense), n_arcs, n_labels)
    assert np.array_equal(expected.steps, found.steps)
    assert expected[2:] == found[2:]
    row = found.label_row
    assert n_labels <= row < 2 * n_labels and (64 % row == 0 or row % 64 == 0)
    assert not len(dense) or found.steps.ctypes.data % 64 == 0
    of_arcs, of_labels = found.steps[:n_arcs], found.steps[n_arcs:].reshape(n_rows + 1, row)
    plain = in_steps(dense, n_arcs).steps[:-1]
    assert np.array_equal(np.concatenate([of_arcs, of_labels[:-1, :n_labels].ravel()]), plain)
    assert not of_labels[:, n_labels:].any() and not of_labels[-1].any()


def test_a_bit_beyond_the_last_weight_is_an_index_out_of_range():
    holder, vector = model(), masked(np.ones(7, np.float32))
    bad = pack_masked("", vector._replace(bits=np.array([255], np.uint8), values=np.ones(8, np.float32)))
    vectors = bad | pack_masked("first_pass_", masked(np.ones(4)))
    store_arrays(holder, {**vectors, **UNCORRECTED, SEEN: pack_numbers(None)}, [3, 7, 4], LABELS, version=FORMAT)
    with pytest.raises(DamagedModel, match="index is out of range"):
        load(holder, LABELS, 7, (0, 4))


def test_only_weights_that_are_not_zero_are_kept():
    holder = model()
    few = np.zeros(1 << 20, np.float32)
    few[[3, 500_000]] = 1.5
    store(holder, TreeWeights(masked(few), np.zeros(0, np.float32)), LABELS)
    assert len(holder.to_bytes()) < 10_000


@pytest.mark.parametrize(
    ("labels", "n_weights", "n_first_pass", "complaint"),
    [
        (("ROOT", "obj", "nsubj"), 7, 4, "digest"),
        (LABELS, 8, 4, "it has 7 weights where the features have 8"),
        (LABELS, 7, 5, "first pass is of a wrong size"),
    ],
)
def test_weights_of_something_else(labels, n_weights, n_first_pass, complaint):
    holder = model()
    store(holder, weights(), LABELS)
    with pytest.raises(DamagedModel, match=complaint):
        load(holder, labels, n_weights, (0, n_first_pass))


def test_packing_rounds_both_vectors_and_prunes_the_trees():
    given = weights(300, 200)
    holder = model()
    store(holder, given, LABELS, Packing("int8", 0.5))
    assert not is_exact(holder)
    again = load(model().from_bytes(holder.to_bytes()), LABELS, 300, (0, 200))
    assert np.array_equal(again.seen, given.seen)
    trees, trees_again = given.trees.dense(), again.trees.dense()
    smallest = np.abs(trees[trees_again != 0]).min()
    for before, after, least in ((trees, trees_again, smallest), (given.first_pass, again.first_pass, 0.0)):
        kept, step = after != 0, max(np.abs(before).max() / 127, least)
        assert 0 < np.abs(after - before)[kept].max() <= step / 2 * 1.001
    kept = trees_again != 0
    assert kept.sum() == np.count_nonzero(trees) / 2
    assert np.abs(trees[kept]).min() >= np.abs(trees[~kept]).max()
    assert np.count_nonzero(again.first_pass) >= 190


@pytest.mark.parametrize("prefix", ["", "first_pass_"])
@pytest.mark.parametrize("layer", ["", "corrected_"])
@pytest.mark.parametrize(
    ("indices", "values", "shape", "complaint"),
    [
        ([0, 7], [1, 1], [3, 7, 4], "index is out of range"),
        ([1, 2], [1], [3, 7, 4], "not as many"),
        ([1, 2], [1, np.nan], [3, 7, 4], "not finite"),
        ([1, 2], [1, np.inf], [3, 7, 4], "not finite"),
        ([0], [1], [2, 7, 4], "weights for 2 labels, but the component has 3"),
        ([0], [1], [3, 7, 1], "first pass is of a wrong size"),
    ],
)
def test_arrays_that_no_kernel_may_see_even_with_the_right_digest(prefix, layer, indices, values, shape, complaint):
    holder, nothing = model(), np.zeros(0, np.float32)
    good = Sparse(np.array([0], np.int64), np.ones(1, np.float32), nothing)
    bad = Sparse(np.array(indices, np.int64), np.array(values, np.float32), nothing)
    vectors = {**pack_bits("", good, 7), **pack_bits("first_pass_", good, 4)}
    vectors |= pack(prefix + layer, bad) if layer else pack_bits(prefix, bad, 8)
    store_arrays(holder, {**UNCORRECTED, **vectors, SEEN: pack_numbers(None)}, shape, LABELS, version=FORMAT)
    with pytest.raises(DamagedModel, match=complaint):
        load(holder, LABELS, 7, (0, 4))


@given(n_before=st.integers(1, 4), more=st.integers(0, 3), n_arcs=st.sampled_from([0, 4, 8]), n_rows=st.integers(1, 5))
def test_widening_moves_no_weight_to_another_label(n_before, more, n_arcs, n_rows):
    dense = np.arange(1, n_arcs + n_rows * n_before + 1, dtype=np.float32)
    before = TreeWeights(masked(dense), np.ones(2, np.float32))
    after = widen(before, n_arcs, n_rows, n_before + more)
    trees = after.trees.dense()
    assert trees.dtype == np.float32 and after.first_pass is before.first_pass
    assert np.array_equal(trees[:n_arcs], dense[:n_arcs])
    rows = trees[n_arcs:].reshape(n_rows, n_before + more)
    assert np.array_equal(rows[:, :n_before], dense[n_arcs:].reshape(n_rows, n_before)) and not rows[:, n_before:].any()
