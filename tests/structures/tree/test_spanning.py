"""Maximum spanning trees against all trees of short sentences, and against the log-partition of longer ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.matrix_tree import tree_marginals
from spacy_ssvm.structures.tree.parts import FORBIDDEN
from spacy_ssvm.structures.tree.spanning import maximum_spanning_tree

from .enumeration import Tree, arcs_score, is_tree, score_matrices, trees

roots = pytest.mark.parametrize("multi_root", [False, True])


def decoded(scores: np.ndarray, multi_root: bool) -> tuple[float, Tree]:
    heads = np.empty(len(scores), np.int32)
    score = maximum_spanning_tree(scores, multi_root, heads)
    return score, tuple(heads.tolist())


def n_broken(scores: np.ndarray, tree: Tree) -> int:
    return sum(scores[tree[m], m] == FORBIDDEN for m in range(1, len(tree)))


@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_tree_is_the_best_one(scores, multi_root):
    score, tree = decoded(scores, multi_root)
    every = trees(len(scores) - 1, False, multi_root)
    assert tree in every
    assert score == pytest.approx(arcs_score(scores, tree))
    assert score == pytest.approx(max(arcs_score(scores, other) for other in every))


@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_fewest_candidates_are_broken(scores, multi_root):
    _, tree = decoded(scores, multi_root)
    assert n_broken(scores, tree) == min(n_broken(scores, other) for other in trees(len(scores) - 1, False, multi_root))


@given(data=st.data(), n=st.integers(1, 5), multi_root=st.booleans())
def test_large_scores_lose_no_unit(data, n, multi_root):
    # Sums of five such scores are exact; a penalty above their range would not be.
    entries = st.one_of(st.integers(-2, 2), st.integers(2**49 - 2, 2**49), st.integers(-(2**49), 2 - 2**49))
    size = (n + 1) ** 2
    scores = np.array(data.draw(st.lists(entries, min_size=size, max_size=size)), np.float64).reshape(n + 1, n + 1)
    score, _ = decoded(scores, multi_root)
    assert score == max(arcs_score(scores, tree) for tree in trees(n, False, multi_root))


@roots
@pytest.mark.parametrize("seed", range(20))
def test_longer_sentences_are_certified_by_the_log_partition(seed, multi_root):
    # The best of N trees lies within log N / t of log Σ exp(t · score) / t, which leaves one whole number.
    n, t, rng = 40, 200.0, np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n + 1, n + 1)).astype(np.float64)
    scores[0, rng.random(n + 1) < 0.5] = 3.0
    assert (n - 1) * math.log(n + 1) < t
    score, tree = decoded(scores, multi_root)
    assert is_tree(tree) and (multi_root or tree.count(0) == 1)
    log_partition = tree_marginals(scores * t, multi_root, np.empty(scores.shape))
    assert score == arcs_score(scores, tree) == math.floor(log_partition / t + 1e-9)


@roots
def test_500_tokens(multi_root):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(501, 501))
    scores[0] += 5.0
    score, tree = decoded(scores, multi_root)
    assert is_tree(tree) and (multi_root or tree.count(0) == 1)
    assert score == pytest.approx(arcs_score(scores, tree))
    # No head can be exchanged for a better one alone.
    for m in rng.integers(1, 501, 50):
        for h in range(0 if multi_root else 1, 501):
            if tree[m] != 0 and h != m and scores[h, m] > scores[tree[m], m]:
                assert not is_tree((*tree[:m], h, *tree[m + 1 :]))


def test_one_root_where_every_tree_breaks_candidates():
    scores = np.full((4, 4), FORBIDDEN)
    scores[0, 1:] = 1.0
    _, tree = decoded(scores, False)
    assert is_tree(tree) and tree.count(0) == 1


@roots
@pytest.mark.parametrize(("n", "tree"), [(0, (-1,)), (1, (-1, 0))])
def test_the_only_tree(n, tree, multi_root):
    score, found = decoded(np.full((n + 1, n + 1), 2.5), multi_root)
    assert (score, found) == (2.5 * n, tree)
