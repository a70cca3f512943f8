"""The best first-order tree against all trees of short sentences, and against what else is known of longer ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN

from .enumeration import arcs_score, arcs_scores, score_matrices
from .first_order import roots, structures


def check(structure, scores, multi_root):
    """The tree is a legal one, and none scores more; that includes the number of FORBIDDEN arcs."""
    score, tree = structure.best(scores, multi_root)
    legal = structure.trees(len(scores) - 1, multi_root)
    best = arcs_scores(scores, legal).max()
    assert tree in legal
    assert [score, arcs_score(scores, tree)] == pytest.approx([best, best], rel=1e-12, abs=1e-12)
    assert score > FORBIDDEN / 2 or sum(scores[tree[m], m] == FORBIDDEN for m in range(1, len(tree))) == min(
        sum(scores[other[m], m] == FORBIDDEN for m in range(1, len(other))) for other in legal
    )


@structures
@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_tree_is_the_best_one(structure, scores, multi_root):
    check(structure, scores, multi_root)


@structures
@given(data=st.data(), n=st.integers(1, 5), multi_root=st.booleans())
def test_large_scores_lose_no_unit(structure, data, n, multi_root):
    """Sums of five such scores are exact; a penalty above their range would not be."""
    entries = st.one_of(st.integers(-2, 2), st.integers(2**49 - 2, 2**49), st.integers(-(2**49), 2 - 2**49))
    size = (n + 1) ** 2
    scores = np.array(data.draw(st.lists(entries, min_size=size, max_size=size)), np.float64).reshape(n + 1, n + 1)
    score, _ = structure.best(scores, multi_root)
    assert score == arcs_scores(scores, structure.trees(n, multi_root)).max()


@structures
@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_diagonal_and_column_0_are_ignored(structure, scores, multi_root):
    blank = scores.copy()
    np.fill_diagonal(blank, np.nan)
    blank[:, 0] = np.nan
    assert structure.best(blank, multi_root) == structure.best(scores, multi_root)


@structures
@roots
@pytest.mark.parametrize("n", [60, 500])
def test_a_long_sentence_and_its_mirror_image(structure, n, multi_root):
    """Read from its end, a sentence has the same trees, since nothing may cover a child of the root."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    order = [0, *range(n, 0, -1)]
    score, tree = structure.best(scores, multi_root)
    mirrored_score, mirrored = structure.best(np.ascontiguousarray(scores[order][:, order]), multi_root)
    assert structure.is_legal(tree, multi_root)
    assert [arcs_score(scores, tree), mirrored_score] == pytest.approx([score, score], rel=1e-12)
    assert [order[h] for h in tree[1:]] == list(mirrored[:0:-1])


@structures
@roots
@pytest.mark.parametrize("seed", range(3))
def test_longer_sentences_are_certified_by_the_log_partition(structure, seed, multi_root):
    """The best of N trees lies within log N / t of log Σ exp(t · score) / t, which leaves one whole number."""
    n, t, rng = 40, 200.0, np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n + 1, n + 1)).astype(np.float64)
    scores[0, rng.random(n + 1) < 0.5] = 3.0
    assert (n - 1) * math.log(n + 1) < t
    score, tree = structure.best(scores, multi_root)
    assert structure.is_legal(tree, multi_root)
    log_partition, _ = structure.marginals(scores * t, multi_root)
    assert score == arcs_score(scores, tree) == math.floor(log_partition / t + 1e-9)
