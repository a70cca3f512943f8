"""Trees of whole batches: the same as one by one, and what can be said of them where they cannot be enumerated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.tree.data import Shape, dimension, double_precision, in_steps, weights_at
from spacy_ssvm.models.tree.predictor import decode_all
from spacy_ssvm.structures.tree.parts import (
    PROJECTIVE,
    ROOT_LABEL,
    SPANNING,
    SPANNING_GRANDPARENTS,
)

from ...structures.enumeration import dear
from ...structures.tree.enumeration import is_projective, is_tree
from .enumeration import Labelled, every, exact, examples_of, labelled_tree, random_sentences, tiny_trees


def decoded(data, weights) -> list[Labelled]:
    """By w, float64 [d], or by a `WeightVector`."""
    heads, labels = decode_all(data, double_precision(weights) if isinstance(weights, np.ndarray) else weights)
    assert heads.dtype == labels.dtype == np.int32 and len(heads) == len(labels) == data.columns.starts[-1]
    return [labelled_tree(heads[example.tokens], labels[example.tokens]) for example in examples_of(data)]


@exact
@dear
@given(data=st.data())
def test_every_tree_of_a_batch_is_the_best(structure, data):
    """In double precision and in steps, and whatever gold and its costs say."""
    tiny = data.draw(tiny_trees(structure))
    n_arcs = 1 << tiny.data.shape.arc_bits
    n_labels = tiny.data.shape.n_labels
    steps = in_steps(tiny.weights.astype(np.float32), n_arcs, n_labels)
    arcs, labels = np.split(np.arange(len(steps.steps)), [n_arcs])
    labels = labels.reshape(-1, steps.label_row)[:-1, :n_labels].ravel()
    rounded = np.concatenate([weights_at(steps, arcs, of_labels=False), weights_at(steps, labels, of_labels=True)])
    for weights, scored in ((tiny.weights, tiny.weights), (steps, rounded)):
        for example, y in zip(tiny.examples, decoded(tiny.data, weights), strict=True):
            values = example.scores(example.labelled, scored)
            assert values[example.labelled.index(y)] == pytest.approx(values.max(), abs=1e-5)


def long_sentences(structure: int, sizes: list[int], multi_root: bool = False):
    rng = np.random.default_rng(len(sizes))
    data = random_sentences(rng, Shape(4, 12, 8, structure, multi_root), sizes, 0.2)
    return data, np.random.default_rng(7).normal(size=dimension(data.shape))


@pytest.mark.parametrize("multi_root", [False, True])
@every
def test_long_sentences(structure, multi_root):
    """Trees of candidates, with the root's label at the root's arcs only; crossing arcs where these are allowed."""
    data, weights = long_sentences(structure, [40, 0, 1, 25], multi_root)
    crossing = False
    for example, y in zip(examples_of(data), decoded(data, weights), strict=True):
        assert is_tree(y.heads)
        assert all(h in example.candidates(m) for m, h in enumerate(y.heads[1:], 1))
        assert multi_root or not example.n or y.heads.count(0) == 1
        assert all((h == 0) == (label == ROOT_LABEL) for h, label in zip(y.heads[1:], y.labels[1:]))
        assert max(y.labels) < 4
        crossing |= not is_projective(y.heads)
    assert crossing == (structure in (SPANNING, SPANNING_GRANDPARENTS))


def test_no_sentences():
    data, weights = long_sentences(PROJECTIVE, [])
    assert decoded(data, weights) == []
