"""The k best spanning trees against all trees of short sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.spanning import maximum_spanning_tree
from spacy_ssvm.structures.tree.spanning_kbest import spanning_kbest

from .enumeration import arcs_score, is_tree, score_matrices, trees


@given(scores=score_matrices(), multi_root=st.booleans(), k=st.integers(1, 30))
def test_the_k_best_are_the_k_best(scores, multi_root, k):
    found, heads = spanning_kbest(scores, k, multi_root)
    every = trees(len(scores) - 1, False, multi_root)
    legal = (score for score in (arcs_score(scores, tree) for tree in every) if score > FORBIDDEN / 2)
    assert found == pytest.approx(sorted(legal, reverse=True)[:k])
    assert heads.shape == (len(found), len(scores)) and heads.dtype == np.int32
    assert len({tuple(tree) for tree in heads}) == len(found)
    assert {tuple(tree) for tree in heads} <= set(every)
    assert [arcs_score(scores, tuple(tree)) for tree in heads] == pytest.approx(found)


@given(scores=score_matrices(max_tokens=4, forbidden=False), multi_root=st.booleans())
def test_more_than_there_are(scores, multi_root):
    every = trees(len(scores) - 1, False, multi_root)
    _, heads = spanning_kbest(scores, len(every) + 3, multi_root)
    assert sorted(tuple(tree) for tree in heads.tolist()) == sorted(every)


@pytest.mark.parametrize("multi_root", [False, True])
def test_no_tree_without_forbidden_arcs(multi_root):
    scores = np.ones((4, 4))
    scores[:, 2] = FORBIDDEN
    found, heads = spanning_kbest(scores, 3, multi_root)
    assert found.shape == (0,) and heads.shape == (0, 4)


@pytest.mark.parametrize("multi_root", [False, True])
def test_longer_sentences(multi_root):
    scores = np.random.default_rng(0).normal(size=(61, 61))
    scores[0] += 2.0
    found, heads = spanning_kbest(scores, 20, multi_root)
    best = np.empty(61, np.int32)
    assert found[0] == maximum_spanning_tree(scores, multi_root, best)
    assert heads[0].tolist() == best.tolist()
    assert len(found) == 20 and (np.diff(found) <= 0).all()
    assert len({tuple(tree) for tree in heads}) == 20
    for score, tree in zip(found, heads.tolist()):
        assert is_tree(tuple(tree)) and (multi_root or tree.count(0) == 1)
        assert score == pytest.approx(arcs_score(scores, tuple(tree)))
    # No exchange of one head is left out: all that beat the last of the list are in it.
    listed = {tuple(tree) for tree in heads.tolist()}
    for m in range(1, 61):
        for h in range(61):
            other = (*best[:m].tolist(), h, *best[m + 1 :].tolist())
            beats = h != m and found[0] - scores[best[m], m] + scores[h, m] > found[-1] + 1e-9
            if beats and is_tree(other) and (multi_root or other.count(0) == 1):
                assert other in listed
