"""Log-partition and marginals of projective trees against enumeration and counting, to 1e-10."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.inside_outside import projective_marginals
from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.projective import eisner

from .enumeration import arcs_score, score_matrices, trees


def infer(scores, multi_root):
    marginals = np.full_like(scores, np.nan)
    return projective_marginals(scores, multi_root, marginals), marginals


def check(scores, multi_root):
    log_partition, marginals = infer(scores, multi_root)
    n = len(scores) - 1
    legal = trees(n, True, multi_root)
    values = np.array([arcs_score(scores, tree) for tree in legal])
    expected = np.zeros_like(scores)
    if values.max() > FORBIDDEN / 2:
        log_sum = values.max() + np.log(np.exp(values - values.max()).sum())
        assert log_partition == pytest.approx(log_sum, rel=1e-10, abs=1e-10)
        for tree, probability in zip(legal, np.exp(values - log_sum)):
            expected[list(tree[1:]), range(1, n + 1)] += probability
    else:
        assert log_partition < FORBIDDEN / 2
    np.testing.assert_allclose(marginals, expected, rtol=1e-10, atol=0)


@given(score_matrices(), st.booleans())
def test_marginals(scores, multi_root):
    check(scores, multi_root)


@pytest.mark.parametrize("multi_root", [False, True])
def test_six_tokens(multi_root):
    check(np.random.default_rng(6).normal(size=(7, 7)), multi_root)


@given(score_matrices(max_tokens=4), st.booleans())
def test_large_scores_neither_overflow_nor_vanish(scores, multi_root):
    """Scores of ±2,000: exp of them is not a float64, the probabilities are."""
    check(np.where(scores == FORBIDDEN, FORBIDDEN, np.sign(scores) * 2000.0), multi_root)


@given(score_matrices(), st.booleans())
def test_the_diagonal_and_column_0_are_ignored(scores, multi_root):
    blank = scores.copy()
    np.fill_diagonal(blank, np.nan)
    blank[:, 0] = np.nan
    log_partition, marginals = infer(scores, multi_root)
    blank_log_partition, blank_marginals = infer(blank, multi_root)
    assert blank_log_partition == log_partition
    np.testing.assert_array_equal(blank_marginals, marginals)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 200])
def test_equal_scores_count_the_trees(n):
    """There are as many as ternary trees of n nodes; with one root, whose two sides are independent, as many as pairs
    of ternary trees of n − 1 nodes in all."""
    log_partition, _ = infer(np.zeros((n + 1, n + 1)), True)
    assert log_partition == pytest.approx(math.log(math.comb(3 * n, n) // (2 * n + 1)), rel=1e-12)
    log_partition, _ = infer(np.zeros((n + 1, n + 1)), False)
    assert log_partition == pytest.approx(math.log(math.comb(3 * n - 2, n - 1) // n), rel=1e-12)


@pytest.mark.parametrize("multi_root", [False, True])
def test_a_long_sentence(multi_root):
    n = 60
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    marginals = infer(scores, multi_root)[1]
    assert (marginals >= 0).all()
    np.testing.assert_allclose(marginals.sum(0)[1:], 1.0, rtol=1e-10)
    if not multi_root:
        assert marginals[0].sum() == pytest.approx(1.0, rel=1e-10)
    step = 1e-5
    for h, m in [(0, 1), (0, n), (n, 1), (1, n), (30, 31), (31, 30), (20, 40)]:
        there, back = scores.copy(), scores.copy()
        there[h, m] += step
        back[h, m] -= step
        slope = (infer(there, multi_root)[0] - infer(back, multi_root)[0]) / (2 * step)
        assert slope == pytest.approx(marginals[h, m], abs=1e-8)


@pytest.mark.parametrize("multi_root", [False, True])
def test_the_best_tree_takes_all_as_scores_grow(multi_root):
    n = 60
    scores = 1e6 * np.random.default_rng(n).normal(size=(n + 1, n + 1))
    heads = np.zeros(n + 1, np.int32)
    best = eisner(scores, multi_root, heads)
    log_partition, marginals = infer(scores, multi_root)
    expected = np.zeros_like(scores)
    expected[heads[1:], range(1, n + 1)] = 1.0
    assert log_partition == pytest.approx(best, rel=1e-12)
    np.testing.assert_allclose(marginals, expected, atol=1e-6)
