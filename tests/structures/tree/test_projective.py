"""First-order projective decoding against enumeration, and against itself on long sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.projective import eisner

from .enumeration import arcs_score, is_projective, is_tree, score_matrices, trees


def decode(scores, multi_root):
    heads = np.full(len(scores), 99, np.int32)
    score = eisner(scores, multi_root, heads)
    return score, tuple(heads.tolist())


def check(scores, multi_root):
    """The tree is a legal one, and none scores more; that includes the number of FORBIDDEN arcs."""
    score, tree = decode(scores, multi_root)
    legal = trees(len(scores) - 1, True, multi_root)
    best = max(arcs_score(scores, other) for other in legal)
    assert tree in legal
    assert [score, arcs_score(scores, tree)] == pytest.approx([best, best], rel=1e-12, abs=1e-12)


@given(score_matrices(), st.booleans())
def test_eisner(scores, multi_root):
    check(scores, multi_root)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("forbidden", [0.0, 0.4, 1.0])
def test_six_tokens(forbidden, multi_root):
    random = np.random.default_rng(6)
    for _ in range(5):
        scores = random.normal(size=(7, 7))
        scores[random.random((7, 7)) < forbidden] = FORBIDDEN
        check(scores, multi_root)


@given(score_matrices(), st.booleans())
def test_the_diagonal_and_column_0_are_ignored(scores, multi_root):
    blank = scores.copy()
    np.fill_diagonal(blank, np.nan)
    blank[:, 0] = np.nan
    assert decode(blank, multi_root) == decode(scores, multi_root)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("n", [60, 500])
def test_a_long_sentence_and_its_mirror_image(n, multi_root):
    """Read from its end, a sentence has the same trees, since nothing may cover a child of the root."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    order = [0, *range(n, 0, -1)]
    score, tree = decode(scores, multi_root)
    mirrored_score, mirrored = decode(np.ascontiguousarray(scores[order][:, order]), multi_root)
    assert is_tree(tree) and is_projective(tree) and (multi_root or tree.count(0) == 1)
    assert arcs_score(scores, tree) == pytest.approx(score, rel=1e-12)
    assert mirrored_score == pytest.approx(score, rel=1e-12)
    assert [order[h] for h in tree[1:]] == list(mirrored[:0:-1])


@pytest.mark.parametrize("n", [60, 500])
def test_the_best_head_of_each_token_where_these_make_a_tree(n):
    random = np.random.default_rng(n)
    _, tree = decode(random.normal(size=(n + 1, n + 1)), False)
    scores = random.random((n + 1, n + 1))
    scores[list(tree[1:]), range(1, n + 1)] += 1.0
    assert decode(scores, False)[1] == decode(scores, True)[1] == tree
