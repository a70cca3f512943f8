"""The oracles of trees against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.features.arc_program import read_sentence
from spacy_ssvm.models.tree.data import double_precision, n_rows, plane_entries
from spacy_ssvm.models.tree.oracles import count_features, decode, feature_difference, tree_problem
from spacy_ssvm.solvers.planes import plane_buffer

from ...structures.enumeration import dear
from ..oracles import check_gradient, check_kbest, check_max, dense
from .enumeration import Example, Labelled, every, first_order, tiny_trees


def decoded(tiny, example, loss_scale) -> Labelled:
    data = tiny.data
    heads, labels = np.zeros((2, example.n + 1), np.int32)
    words = read_sentence(data.columns, data.program, example.example)
    decode(data, example.example, words, double_precision(tiny.weights), loss_scale, heads, labels)
    return Labelled(tuple(heads.tolist()), tuple(labels.tolist()))


@every
@dear
@given(data=st.data(), loss_scale=st.sampled_from([0.0, 1.0]))
def test_max_oracle(structure, data, loss_scale):
    """The most violated plane, of the tree that is decoded; where decoding is approximate, of any tree."""
    tiny = data.draw(tiny_trees(structure))
    problem = tree_problem(tiny.data)
    for example in tiny.examples:
        y = decoded(tiny, example, loss_scale)
        found = check_max(problem, example.example, tiny.weights, loss_scale, *example.planes)
        np.testing.assert_allclose(found, example.planes[0][example.labelled.index(y)], atol=1e-12)


@every
@dear
@given(data=st.data())
def test_difference_to_any_tree(structure, data):
    """Gold itself leaves nothing, and no loss."""
    tiny = data.draw(tiny_trees(structure))
    plane = plane_buffer(int(plane_entries(tiny.data).max()))
    for example in tiny.examples:
        words = read_sentence(tiny.data.columns, tiny.data.program, example.example)
        for y in (data.draw(st.sampled_from(example.labelled)), example.gold):
            heads, labels = np.array(y.heads, np.int32), np.array(y.labels, np.int32)
            entries, loss = feature_difference(
                tiny.data, example.example, words, heads, labels, plane.indices, plane.values
            )
            found = dense(plane.indices[:entries], plane.values[:entries], len(tiny.weights))
            expected = example.joint_feature(example.gold) - example.joint_feature(y)
            np.testing.assert_allclose(found, expected, atol=1e-12)
            assert loss == pytest.approx(example.loss(y), abs=1e-12)
        assert entries == 0 and loss == 0.0


@first_order
@dear
@given(data=st.data(), beta=st.sampled_from([0.3, 1.0, 2.5]), gamma=st.sampled_from([0.0, 1.0, 3.0]))
def test_gradient(structure, data, beta, gamma):
    tiny = data.draw(tiny_trees(structure))
    for example in tiny.examples:
        check_gradient(tree_problem(tiny.data), example.example, tiny.weights, beta, gamma, *example.planes)


@first_order
@dear
@given(data=st.data(), k=st.integers(1, 7), loss_scale=st.sampled_from([0.0, 1.0]))
def test_kbest(structure, data, k, loss_scale):
    tiny = data.draw(tiny_trees(structure))
    for example in tiny.examples:
        check_kbest(tree_problem(tiny.data), example.example, tiny.weights, loss_scale, k, *example.planes)


@every
@dear
@given(data=st.data())
def test_features_are_counted_in_gold_trees(structure, data):
    tiny = data.draw(tiny_trees(structure))
    counts, shape = np.zeros(n_rows(tiny.data.shape), np.int64), tiny.data.shape
    count_features(tiny.data, 0, counts)
    fires = np.zeros(len(counts), np.bool_)
    for number in range(len(tiny.examples)):
        example, n_arcs = Example(tiny.data, number), 1 << shape.arc_bits
        example.joint_feature(example.gold)
        joint = sum((np.abs(part) for part in example._known.values()), np.zeros(len(tiny.weights)))
        fires[:n_arcs] |= joint[:n_arcs] != 0
        fires[n_arcs:] |= joint[n_arcs:].reshape(-1, shape.n_labels).any(axis=1)
    assert np.array_equal(counts > 0, fires)
