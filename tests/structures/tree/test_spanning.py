"""Maximum spanning trees, the k best of them, and the matrix-tree theorem against all trees of short sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.matrix_tree import tree_marginals
from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.spanning import maximum_spanning_tree
from spacy_ssvm.structures.tree.spanning_kbest import spanning_kbest

from .enumeration import arcs_score, is_tree, score_matrices, trees


@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_tree_is_the_best_one(scores, multi_root):
    heads = np.empty(len(scores), np.int32)
    score = maximum_spanning_tree(scores, multi_root, heads)
    best = max(arcs_score(scores, tree) for tree in trees(len(scores) - 1, False, multi_root))
    assert is_tree(tuple(heads)) and heads[0] == -1
    assert multi_root or len(heads) == 1 or np.count_nonzero(heads == 0) == 1
    assert arcs_score(scores, tuple(heads)) == pytest.approx(score) == pytest.approx(best)


@given(scores=score_matrices(max_tokens=4), multi_root=st.booleans(), k=st.integers(1, 20))
def test_the_k_best_are_the_k_best(scores, multi_root, k):
    found, heads = spanning_kbest(scores, k, multi_root)
    every = (arcs_score(scores, tree) for tree in trees(len(scores) - 1, False, multi_root))
    expected = sorted((score for score in every if score > FORBIDDEN / 2), reverse=True)[:k]
    assert found == pytest.approx(expected)
    assert len({tuple(tree) for tree in heads}) == len(found)
    assert [arcs_score(scores, tuple(tree)) for tree in heads] == pytest.approx(expected)


@pytest.mark.parametrize(("scale", "precision"), [(1.0, 1e-10), (10.0, 1e-6)])
@given(scores=score_matrices(), multi_root=st.booleans())
def test_matrix_tree_theorem_sums_over_all_trees(scale, precision, scores, multi_root):
    # Where all probable arcs form cycles, the trees are what is left of a difference: hence the second precision.
    scores = np.where(scores > FORBIDDEN / 2, scores * scale, scores)
    marginals = np.full(scores.shape, np.nan)
    log_partition = tree_marginals(scores, multi_root, marginals)
    scored = [(tree, arcs_score(scores, tree)) for tree in trees(len(scores) - 1, False, multi_root)]
    scored = [(tree, score) for tree, score in scored if score > FORBIDDEN / 2]
    expected = np.zeros(scores.shape)
    if not scored:
        assert log_partition == -np.inf and not marginals.any()
        return
    highest = max(score for _, score in scored)
    total = sum(np.exp(score - highest) for _, score in scored)
    for tree, score in scored:
        for modifier in range(1, len(tree)):
            expected[tree[modifier], modifier] += np.exp(score - highest) / total
    assert log_partition == pytest.approx(highest + np.log(total), rel=precision, abs=precision)
    assert marginals == pytest.approx(expected, abs=precision)


@pytest.mark.parametrize("multi_root", [False, True])
def test_long_sentences(multi_root):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(501, 501))
    heads, marginals = np.empty(501, np.int32), np.empty((501, 501))
    score = maximum_spanning_tree(scores, multi_root, heads)
    assert is_tree(tuple(heads)) and (multi_root or np.count_nonzero(heads == 0) == 1)
    assert tree_marginals(scores, multi_root, marginals) > score
    assert marginals[:, 1:].sum(0) == pytest.approx(np.ones(500), abs=1e-9)
    # No arc can be exchanged for a better one alone.
    for modifier in rng.integers(1, 501, 50):
        for head in range(0 if multi_root else 1, 501):
            other = heads.copy()
            other[modifier] = head
            if head != modifier and heads[modifier] != 0 and is_tree(tuple(other)):
                assert scores[head, modifier] <= scores[heads[modifier], modifier]


def test_one_root_where_every_tree_breaks_candidates():
    scores = np.full((4, 4), FORBIDDEN)
    scores[0, 1:] = 1.0
    heads = np.empty(4, np.int32)
    maximum_spanning_tree(scores, False, heads)
    assert is_tree(tuple(heads)) and np.count_nonzero(heads == 0) == 1
