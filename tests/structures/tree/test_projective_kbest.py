"""k-best projective trees against enumeration: by score, since ties may come in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.projective import eisner
from spacy_ssvm.structures.tree.projective_kbest import eisner_kbest

from .enumeration import arcs_score, is_projective, is_tree, score_matrices, trees


def check(scores, k, multi_root):
    found, heads = eisner_kbest(scores, k, multi_root)
    legal = trees(len(scores) - 1, True, multi_root)
    values = np.array([arcs_score(scores, tree) for tree in legal])
    expected = np.sort(values[values > FORBIDDEN / 2])[::-1][:k]
    listed = [tuple(row) for row in heads.tolist()]
    assert heads.dtype == np.int32 and heads.shape == (len(expected), len(scores))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert (np.diff(found) <= 0).all()
    assert len(set(listed)) == len(listed) and set(listed) <= set(legal)
    assert [arcs_score(scores, tree) for tree in listed] == pytest.approx(found, rel=1e-12, abs=1e-12)


@given(score_matrices(), st.integers(1, 20), st.booleans())
def test_k_best(scores, k, multi_root):
    check(scores, k, multi_root)


@given(score_matrices(max_tokens=4), st.booleans())
def test_a_large_k_lists_every_tree(scores, multi_root):
    check(scores, 100, multi_root)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("k", [1, 300, 3000])
def test_six_tokens(k, multi_root):
    random = np.random.default_rng(k)
    check(random.normal(size=(7, 7)), k, multi_root)
    check(random.integers(-1, 2, size=(7, 7)).astype(np.float64), k, multi_root)


@given(score_matrices(forbidden=False), st.booleans())
def test_none_where_every_tree_is_forbidden(scores, multi_root):
    scores[0] = FORBIDDEN
    found, heads = eisner_kbest(scores, 3, multi_root)
    assert len(found) == len(heads) == (0 if len(scores) > 1 else 1)


@given(score_matrices(), st.integers(-3, 0))
def test_k_below_one_is_refused(scores, k):
    with pytest.raises(ValueError, match="k must be at least 1"):
        eisner_kbest(scores, k, False)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize(("n", "k"), [(60, 200), (500, 5)])
def test_a_long_sentence(n, k, multi_root):
    """Distinct legal trees in order, the first that of `eisner`, and the second the best without some arc of it."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    found, heads = eisner_kbest(scores, k, multi_root)
    best = np.zeros(n + 1, np.int32)
    assert found[0] == eisner(scores, multi_root, best)
    np.testing.assert_array_equal(heads[0], best)
    assert len(found) == k == len(np.unique(heads, axis=0))
    assert (np.diff(found) <= 0).all()
    for score, tree in zip(found, map(tuple, heads.tolist())):
        assert is_tree(tree) and is_projective(tree) and (multi_root or tree.count(0) == 1)
        assert arcs_score(scores, tree) == pytest.approx(score, rel=1e-12)
    if n == 60:
        seconds = []
        for m in range(1, n + 1):
            without = scores.copy()
            without[best[m], m] = FORBIDDEN
            seconds.append(eisner(without, multi_root, np.zeros(n + 1, np.int32)))
        assert found[1] == pytest.approx(max(seconds), rel=1e-12)
