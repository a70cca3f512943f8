"""The matrix-tree theorem against sums over all trees of short sentences, and against determinants of longer ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.matrix_tree import tree_marginals
from spacy_ssvm.structures.tree.parts import FORBIDDEN

from .enumeration import arcs_score, score_matrices, trees

roots = pytest.mark.parametrize("multi_root", [False, True])


def inferred(scores: np.ndarray, multi_root: bool) -> tuple[float, np.ndarray]:
    marginals = np.full(scores.shape, np.nan)
    return tree_marginals(scores, multi_root, marginals), marginals


def summed(scores: np.ndarray, multi_root: bool) -> tuple[float, np.ndarray]:
    """The same from the definition."""
    marginals = np.zeros(scores.shape)
    scored = [(arcs_score(scores, tree), tree) for tree in trees(len(scores) - 1, False, multi_root)]
    scored = sorted((score, tree) for score, tree in scored if score > FORBIDDEN / 2)
    if not scored:
        return -np.inf, marginals
    highest = scored[-1][0]
    total = sum(np.exp(score - highest) for score, _ in scored)
    for score, tree in scored:
        for m in range(1, len(tree)):
            marginals[tree[m], m] += np.exp(score - highest) / total
    return highest + np.log(total), marginals


@given(scores=score_matrices(), multi_root=st.booleans(), scale=st.sampled_from([1.0, 10.0, 20.0]))
def test_sums_over_all_trees(scores, multi_root, scale):
    scores = np.where(scores == FORBIDDEN, FORBIDDEN, scores * scale)
    log_partition, marginals = inferred(scores, multi_root)
    expected, expected_marginals = summed(scores, multi_root)
    assert log_partition == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert marginals == pytest.approx(expected_marginals, rel=1e-10, abs=1e-200)


@roots
@pytest.mark.parametrize("depth", [1.0, 30.0, 300.0])
def test_probable_arcs_that_form_a_cycle(depth, multi_root):
    # Nothing but the cycle 1 ⇄ 2 is probable, and no tree holds it.
    scores = np.full((4, 4), -depth)
    scores[1, 2] = scores[2, 1] = scores[0, 3] = 0.0
    scores[3, 1] = scores[3, 2] = -depth + np.log(3.0)
    if not multi_root:
        scores[0, 1] = scores[0, 2] = FORBIDDEN
    log_partition, marginals = inferred(scores, multi_root)
    expected, expected_marginals = summed(scores, multi_root)
    assert log_partition == pytest.approx(expected, rel=1e-14)
    assert marginals == pytest.approx(expected_marginals, rel=1e-13)
    assert marginals[1, 2] == pytest.approx(marginals[2, 1], rel=1e-14)


@roots
@pytest.mark.parametrize("n", [2, 3, 20, 100])
def test_determinants_of_longer_sentences(n, multi_root):
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    potentials = np.exp(scores) * (1 - np.eye(n + 1))
    inner = potentials[1:, 1:]
    laplacian = np.diag(inner.sum(0)) - inner
    if multi_root:
        laplacian += np.diag(potentials[0, 1:])
    else:
        laplacian[0] = potentials[0, 1:]
    log_partition, marginals = inferred(scores, multi_root)
    assert log_partition == pytest.approx(np.linalg.slogdet(laplacian)[1], rel=1e-12)
    # The derivative of log |L| by L is its transposed inverse; that of L by each score has two entries at most.
    derivative = np.linalg.inv(laplacian).T
    diagonal, off = np.diag(derivative).copy(), derivative.copy()
    expected = np.zeros(scores.shape)
    if multi_root:
        expected[0, 1:] = potentials[0, 1:] * diagonal
    else:
        expected[0, 1:] = potentials[0, 1:] * derivative[0]
        diagonal[0], off[0] = 0.0, 0.0
    expected[1:, 1:] = inner * (diagonal - off)
    assert marginals[:, 1:] == pytest.approx(expected[:, 1:], rel=1e-9, abs=1e-12)


@roots
@pytest.mark.parametrize(("n", "deviation"), [(500, 1.0), (100, 10.0), (100, 30.0)])
def test_marginals_are_derivatives_of_the_log_partition(n, deviation, multi_root):
    rng = np.random.default_rng(0)
    scores, direction = rng.normal(scale=deviation, size=(2, n + 1, n + 1))
    direction /= deviation
    step = 1e-3
    above, below = (inferred(scores + way * step * direction, multi_root)[0] for way in (1.0, -1.0))
    _, marginals = inferred(scores, multi_root)
    assert (marginals * direction).sum() == pytest.approx((above - below) / (2 * step), abs=1e-4)
    assert not marginals[:, 0].any() and not np.diag(marginals).any()
    if not multi_root:
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-11)


@roots
def test_no_tree(multi_root):
    scores = np.zeros((5, 5))
    scores[[0, 1, 2], 3] = scores[[0, 1, 2], 4] = FORBIDDEN
    log_partition, marginals = inferred(scores, multi_root)
    assert log_partition == -np.inf and not marginals.any()


@roots
def test_a_group_that_only_the_root_enters(multi_root):
    # A single root must be in it.
    n = 5
    scores = np.random.default_rng(0).normal(size=(n + 1, n + 1))
    for size in range(1, n + 1):
        for group in itertools.combinations(range(1, n + 1), size):
            outside = [h for h in range(1, n + 1) if h not in group]
            closed = scores.copy()
            closed[np.ix_(outside, group)] = FORBIDDEN
            log_partition, marginals = inferred(closed, multi_root)
            expected, expected_marginals = summed(closed, multi_root)
            assert log_partition == pytest.approx(expected, rel=1e-12)
            assert marginals == pytest.approx(expected_marginals, rel=1e-12)


@pytest.mark.parametrize("order", [*itertools.permutations(range(1, 5))])
def test_what_exp_brings_to_0_is_no_tree_for_any_token(order):
    # The only tree holds two arcs of -600, on the way that alone leads out of the cycle of the first two tokens.
    a, b, c, d = order
    scores = np.full((5, 5), FORBIDDEN)
    scores[b, a] = scores[a, b] = scores[a, c] = scores[0, d] = 0.0
    scores[c, a] = scores[d, c] = -600.0
    log_partition, marginals = inferred(scores, True)
    if log_partition == -np.inf:
        assert not marginals.any()
    else:
        assert log_partition == pytest.approx(-1200.0) and marginals.sum() == pytest.approx(4.0)


def test_two_roots_or_none():
    scores = np.zeros((5, 5))
    for group in ([1, 2], [3, 4]):
        scores[np.ix_([h for h in (1, 2, 3, 4) if h not in group], group)] = FORBIDDEN
    assert inferred(scores, True)[0] == pytest.approx(np.log(9.0), rel=1e-14)
    log_partition, marginals = inferred(scores, False)
    assert log_partition == -np.inf and not marginals.any()


@roots
def test_the_only_tree(multi_root):
    assert inferred(np.full((1, 1), 7.0), multi_root)[0] == 0.0
    log_partition, marginals = inferred(np.full((2, 2), 7.0), multi_root)
    assert log_partition == 7.0 and marginals.tolist() == [[0.0, 1.0], [0.0, 0.0]]
