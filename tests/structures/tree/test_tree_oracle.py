"""The oracle's plane: ΔΦ by explicit construction, and the largest g of all labelled trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.features.arc_hashing import read_sentence
from spacy_ssvm.models.tree.data import either_precision, max_plane_entries
from spacy_ssvm.models.tree.oracles import DecodedTrees, decode, feature_difference, max_oracle
from spacy_ssvm.solvers.planes import merge, plane_buffer
from spacy_ssvm.structures.tree.parts import LOOPY

from .tree_problems import EXACT, Labelled, tiny_trees

few = settings(max_examples=25)
structures = pytest.mark.parametrize("structure", EXACT.values(), ids=EXACT)


def decoded(tiny, example, loss_scale) -> Labelled:
    data = tiny.data
    heads, labels = np.zeros((2, example.n + 1), np.int32)
    words = read_sentence(data.columns, data.program, example.example)
    decode(data, example.example, words, either_precision(tiny.weights), loss_scale, heads, labels)
    return Labelled(tuple(heads.tolist()), tuple(labels.tolist()))


def dense(plane, entries, d) -> np.ndarray:
    result = np.zeros(d)
    np.add.at(result, plane.indices[:entries], plane.values[:entries])
    return result


@structures
@few
@given(data=st.data(), loss_scale=st.sampled_from([0.0, 1.0]))
def test_decoding_finds_the_best_labelled_tree(structure, data, loss_scale):
    tiny = data.draw(tiny_trees(structure))
    for example in tiny.examples:
        ys = example.labelled
        values = example.scores(ys, tiny.weights, loss_scale)
        y = decoded(tiny, example, loss_scale)
        assert y in ys
        assert values[ys.index(y)] == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.parametrize("structure", [*EXACT.values(), LOOPY], ids=[*EXACT, "loopy"])
@few
@given(data=st.data(), loss_scale=st.sampled_from([0.0, 1.0]))
def test_the_plane_is_that_of_the_decoded_tree(structure, data, loss_scale):
    tiny = data.draw(tiny_trees(structure))
    plane = plane_buffer(max_plane_entries(tiny.data) + 3)
    for example in tiny.examples:
        y = decoded(tiny, example, loss_scale)
        assert y in example.labelled
        plane.indices[:], plane.values[:] = -1, np.nan
        entries, loss = max_oracle(
            DecodedTrees(tiny.data, decode), example.example, tiny.weights, loss_scale, plane.indices, plane.values
        )
        assert entries <= max_plane_entries(tiny.data)
        assert (plane.indices[entries:] == -1).all()
        expected = example.joint_feature(example.gold) - example.joint_feature(y)
        np.testing.assert_allclose(dense(plane, entries, len(tiny.weights)), expected, atol=1e-12)
        assert loss == pytest.approx(example.loss(y), abs=1e-12)
        size = merge(plane, entries)
        np.testing.assert_allclose(dense(plane, size, len(tiny.weights)), expected, atol=1e-12)
        assert (np.diff(plane.indices[:size]) > 0).all() and plane.values[:size].all()


@structures
@few
@given(data=st.data())
def test_the_plane_is_the_most_violated(structure, data):
    """ξ_i = max_y Δ − wᵀΔΦ ≥ 0."""
    tiny = data.draw(tiny_trees(structure))
    plane = plane_buffer(max_plane_entries(tiny.data))
    for example in tiny.examples:
        best = example.scores(example.labelled, tiny.weights, 1.0).max()
        slack = best - example.scores([example.gold], tiny.weights)[0]
        entries, loss = max_oracle(
            DecodedTrees(tiny.data, decode), example.example, tiny.weights, 1.0, plane.indices, plane.values
        )
        assert slack >= 0
        found = loss - tiny.weights @ dense(plane, entries, len(tiny.weights))
        assert found == pytest.approx(slack, abs=1e-9)


@pytest.mark.parametrize("structure", [*EXACT.values(), LOOPY], ids=[*EXACT, "loopy"])
@few
@given(data=st.data())
def test_difference_to_any_tree(structure, data):
    """Gold itself leaves nothing, and no loss."""
    tiny = data.draw(tiny_trees(structure))
    plane = plane_buffer(max_plane_entries(tiny.data))
    for example in tiny.examples:
        words = read_sentence(tiny.data.columns, tiny.data.program, example.example)
        for y in (example.gold, data.draw(st.sampled_from(example.labelled))):
            heads, labels = np.array(y.heads, np.int32), np.array(y.labels, np.int32)
            entries, loss = feature_difference(
                tiny.data, example.example, words, heads, labels, plane.indices, plane.values
            )
            expected = example.joint_feature(example.gold) - example.joint_feature(y)
            np.testing.assert_allclose(dense(plane, entries, len(tiny.weights)), expected, atol=1e-12)
            assert loss == pytest.approx(example.loss(y), abs=1e-12)
            if y == example.gold:
                assert entries == 0 and loss == 0.0


@few
@given(data=st.data())
def test_loopy_belief_propagation_is_never_better_than_the_best(data):
    tiny = data.draw(tiny_trees(LOOPY))
    for example in tiny.examples:
        best = example.scores(example.labelled, tiny.weights, 1.0).max()
        assert example.scores([decoded(tiny, example, 1.0)], tiny.weights, 1.0)[0] <= best + 1e-9
