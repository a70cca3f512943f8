"""k best trees, margins and marginals of sentences, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.models.tree.decoding import potentials
from spacy_ssvm.structures.tree.parts import FORBIDDEN, PROJECTIVE, PROJECTIVE_SIBLINGS, SPANNING
from spacy_ssvm.structures.tree.potentials import k_best, marginals, margins

from ...models.tree.enumeration import EXACT, tiny_trees

few = settings(max_examples=25)
exact = pytest.mark.parametrize("structure", EXACT.values(), ids=EXACT.keys())
first_order = pytest.mark.parametrize("structure", [PROJECTIVE, SPANNING], ids=["projective", "spanning"])


def drawn(data, structure):
    """The potentials of each example, its trees, and their scores."""
    tiny = data.draw(tiny_trees(structure))
    for example, found in zip(tiny.examples, potentials(tiny.data, tiny.weights)):
        if example.n and example.labelled:
            yield found, example.labelled, example.scores(example.labelled, tiny.weights)


@exact
@few
@given(data=st.data(), k=st.integers(1, 9))
def test_k_best(structure, data, k):
    for found, trees, scores in drawn(data, structure):
        best = k_best(found, k)
        of_tree = dict(zip(trees, scores))
        assert [tree.score for tree in best] == pytest.approx(np.sort(scores)[::-1][:k], abs=1e-9)
        ys = [((-1, *tree.heads.tolist()), (0, *tree.labels.tolist())) for tree in best]
        assert len(set(ys)) == len(ys)
        assert [of_tree[y] for y in ys] == pytest.approx([tree.score for tree in best], abs=1e-9)


@exact
@few
@given(data=st.data())
def test_margins(structure, data):
    for found, trees, scores in drawn(data, structure):
        ahead = margins(found)
        assert ahead.tree.score == pytest.approx(scores.max(), abs=1e-9)
        for m, (head, label) in enumerate(zip(ahead.tree.heads, ahead.tree.labels), 1):
            without_head = [score for tree, score in zip(trees, scores) if tree.heads[m] != head]
            assert ahead.heads[m - 1] == pytest.approx(scores.max() - max(without_head, default=-np.inf), abs=1e-9)
            without_label = [score for tree, score in zip(trees, scores) if tree.labels[m] != label]
            assert ahead.labels[m - 1] == pytest.approx(scores.max() - max(without_label, default=-np.inf), abs=1e-9)


@first_order
@few
@given(data=st.data(), beta=st.sampled_from([0.01, 1.0, 2.5]))
def test_marginals(structure, data, beta):
    for found, trees, scores in drawn(data, structure):
        weights = np.exp(beta * (scores - scores.max()))
        expected = np.zeros((len(found.parts.heads), max(1, found.label_scores.shape[1])))
        for tree, probability in zip(trees, weights / weights.sum()):
            for m in range(1, len(tree.heads)):
                expected[found.parts.number[tree.heads[m], m], tree.labels[m]] += probability
        of_arcs = marginals(found, beta)
        np.testing.assert_allclose(of_arcs.labels, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(of_arcs.arcs, expected.sum(axis=1), rtol=0, atol=1e-9)


@few
@given(data=st.data())
def test_pairs_of_arcs_have_no_marginals(data):
    for found, _, _ in drawn(data, PROJECTIVE_SIBLINGS):
        with pytest.raises(ValueError, match="only trees of order 1 have exact marginals"):
            marginals(found, 1.0)


@exact
@settings(max_examples=5)
@given(data=st.data())
def test_everything_ruled_out(structure, data):
    for found, _, _ in drawn(data, structure):
        closed = found._replace(parts=found.parts._replace(scores=np.full(len(found.parts.heads), FORBIDDEN)))
        assert k_best(closed, 2) == []
        with pytest.raises(ValueError, match="every tree is ruled out"):
            margins(closed)
        with pytest.raises(ValueError, match="k must be at least 1, not 0"):
            k_best(found, 0)
