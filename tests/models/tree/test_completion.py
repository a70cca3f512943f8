"""Completing and projecting annotation of trees, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.tree.completion import complete, project
from spacy_ssvm.models.tree.data import Shape
from spacy_ssvm.structures import UNKNOWN
from spacy_ssvm.structures.tree.parts import ROOT_LABEL, SPANNING_GRANDPARENTS

from ...structures.enumeration import dear
from ...structures.tree.enumeration import is_tree
from .enumeration import Example, Labelled, every, exact, examples_of, random_sentences, shapes, tiny_trees


def agrees(example: Example, y: Labelled, heads: np.ndarray, labels: np.ndarray) -> bool:
    """Whether a tree has the heads and labels that are given, int32 [T]."""
    pairs = [*zip(heads[example.tokens], y.heads[1:]), *zip(labels[example.tokens], y.labels[1:])]
    return all(known in (UNKNOWN, chosen) for known, chosen in pairs)


@every
@dear
@given(data=st.data())
def test_complete(structure, data):
    """The best tree that agrees with what is annotated; examples that change are named. Climbing: any such tree."""
    tiny = data.draw(tiny_trees(structure))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    known, labelled = rng.random((2, len(tiny.data.gold))) < data.draw(st.sampled_from([0.0, 0.3, 0.7]))
    heads = np.where(known, tiny.data.gold, UNKNOWN)
    labels = np.where(labelled & (tiny.data.shape.n_labels > 1), tiny.data.gold_labels, UNKNOWN)
    trees = tiny.data._replace(head_costs=np.where(known, 1.0, 0.0), label_costs=np.where(labelled, 1.0, 0.0))
    examples = examples_of(trees)
    before = [example.gold for example in examples]
    chosen = np.array(data.draw(st.lists(st.sampled_from(range(len(examples))), unique=True)), np.int64)
    changed = complete(trees, chosen, tiny.weights)
    assert changed.tolist() == [i for i in chosen if examples[i].gold != before[i]]
    for i, example in enumerate(examples):
        if i not in chosen:
            assert example.gold == before[i]
            continue
        ys = [y for y in example.labelled if agrees(example, y, heads, labels)]
        assert example.gold in ys
        if structure != SPANNING_GRANDPARENTS:
            values = example.scores(ys, tiny.weights)
            assert values[ys.index(example.gold)] == pytest.approx(values.max(), abs=1e-9)


def random_annotation(rng, example: Example, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Heads among the candidates that lead nowhere round in a circle; some are unknown. Any labels."""
    while True:
        heads = np.array([rng.choice(example.candidates(m)) for m in range(1, example.n + 1)], np.int32)
        heads[rng.random(example.n) < 0.3] = UNKNOWN
        if is_tree((-1, *np.maximum(heads, 0).tolist())):
            return heads, rng.integers(UNKNOWN, n_labels, example.n).astype(np.int32)


@every
@dear
@given(data=st.data())
def test_project(structure, data):
    """The fewest heads are lost; what is unknown stays so and costs nothing; gold is a tree and agrees."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = data.draw(shapes(structure))
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2))
    trees = random_sentences(rng, shape, sizes, density=data.draw(st.sampled_from([1.0, 0.5])))
    examples = examples_of(trees)
    annotated = [random_annotation(rng, example, shape.n_labels) for example in examples]
    old_heads, old_labels = (np.concatenate(arrays) for arrays in zip(*annotated))
    heads, labels = old_heads.copy(), old_labels.copy()
    examples_changed = project(trees, heads, labels)
    expected = 0
    for example in examples:
        before, after = old_heads[example.tokens], heads[example.tokens]
        fewest = min(sum(a not in (UNKNOWN, h) for a, h in zip(before, y[1:])) for y in example.legal)
        assert (before != after).sum() == fewest
        assert ((before == UNKNOWN) == (after == UNKNOWN)).all()
        assert example.gold in example.labelled
        assert agrees(example, example.gold, heads, labels if shape.n_labels > 1 else np.full_like(labels, UNKNOWN))
        expected += fewest > 0
    assert examples_changed == expected
    # A label goes with its head, or else it is unknown.
    np.testing.assert_array_equal(labels[heads == 0], ROOT_LABEL)
    kept = (heads > 0) & (old_labels != ROOT_LABEL)
    np.testing.assert_array_equal(labels[kept], old_labels[kept])
    assert (labels[(heads != 0) & (old_labels == ROOT_LABEL)] == UNKNOWN).all()
    assert (labels[(heads == UNKNOWN) & (labels != old_labels)] == UNKNOWN).all()


@exact
def test_a_label_keeps_a_token_from_the_root(structure):
    """Where heads are unknown and another tree is there, no root is chosen that is labelled as something else."""
    trees = random_sentences(np.random.default_rng(0), Shape(3, 5, 5, structure, False), [3])
    heads, labels = np.full(3, UNKNOWN, np.int32), np.array([1, UNKNOWN, 2], np.int32)
    assert project(trees, heads, labels) == 0
    assert labels.tolist() == [1, UNKNOWN, 2] and (heads == UNKNOWN).all()
    assert np.flatnonzero(trees.gold == 0).tolist() == [1]
    assert trees.gold_labels[[0, 2]].tolist() == [1, 2] and trees.gold_labels[1] == ROOT_LABEL
