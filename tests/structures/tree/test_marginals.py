"""Log-partitions and marginals of first-order trees: sums over all trees, determinants, derivatives, counts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN

from .enumeration import arcs_score, score_matrices
from .first_order import PROJECTIVE, SPANNING, roots, structures


def summed(structure, scores: np.ndarray, multi_root: bool) -> tuple[float, np.ndarray]:
    """The same from the definition."""
    marginals = np.zeros(scores.shape)
    scored = [(arcs_score(scores, tree), tree) for tree in structure.trees(len(scores) - 1, multi_root)]
    scored = sorted((score, tree) for score, tree in scored if score > FORBIDDEN / 2)
    if not scored:
        return -np.inf, marginals
    highest = scored[-1][0]
    total = sum(np.exp(score - highest) for score, _ in scored)
    for score, tree in scored:
        marginals[tree[1:], range(1, len(tree))] += np.exp(score - highest) / total
    return highest + np.log(total), marginals


def check(structure, scores, multi_root, rel=1e-10, scale=1.0, smallest=1e-200):
    log_partition, marginals = structure.marginals(scores, multi_root)
    expected, expected_marginals = summed(structure, scores, multi_root)
    if expected == -np.inf:
        assert log_partition < FORBIDDEN / 2
    else:
        assert log_partition == pytest.approx(expected, rel=min(rel, 1e-12), abs=1e-12 * scale)
    assert marginals == pytest.approx(expected_marginals, rel=rel, abs=smallest)
    return marginals


@structures
@given(scores=score_matrices(), multi_root=st.booleans(), scale=st.sampled_from([1.0, 10.0, 20.0]))
def test_sums_over_all_trees(structure, scores, multi_root, scale):
    check(structure, np.where(scores == FORBIDDEN, FORBIDDEN, scores * scale), multi_root)


@given(score_matrices(max_tokens=4), st.booleans())
def test_large_scores_neither_overflow_nor_vanish(scores, multi_root):
    """Scores of ±2,000: exp of them is not a float64, the probabilities are."""
    check(PROJECTIVE, np.where(scores == FORBIDDEN, FORBIDDEN, np.sign(scores) * 2000.0), multi_root)


@structures
@given(scores=score_matrices(), multi_root=st.booleans())
def test_the_diagonal_and_column_0_are_ignored(structure, scores, multi_root):
    blank = scores.copy()
    np.fill_diagonal(blank, np.nan)
    blank[:, 0] = np.nan
    for of_blank, expected in zip(structure.marginals(blank, multi_root), structure.marginals(scores, multi_root)):
        np.testing.assert_array_equal(of_blank, expected)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 200])
def test_equal_scores_count_the_trees(n):
    """There are as many projective trees as ternary trees of n nodes; with one root, whose two sides are independent,
    as many as pairs of ternary trees of n − 1 nodes in all. Cayley's formula counts the spanning trees."""
    for structure, multi_root, expected in (
        (PROJECTIVE, True, math.comb(3 * n, n) // (2 * n + 1)),
        (PROJECTIVE, False, math.comb(3 * n - 2, n - 1) // n),
        (SPANNING, True, (n + 1) ** (n - 1)),
        (SPANNING, False, n ** (n - 1)),
    ):
        log_partition, _ = structure.marginals(np.zeros((n + 1, n + 1)), multi_root)
        assert log_partition == pytest.approx(math.log(expected), rel=1e-12)


@roots
@pytest.mark.parametrize(
    ("structure", "n", "deviation"),
    [(PROJECTIVE, 60, 1.0), (SPANNING, 500, 1.0), (SPANNING, 100, 10.0), (SPANNING, 100, 30.0)],
    ids=str,
)
def test_marginals_are_derivatives_of_the_log_partition(structure, n, deviation, multi_root):
    rng = np.random.default_rng(0)
    scores, direction = rng.normal(scale=deviation, size=(2, n + 1, n + 1))
    direction /= deviation
    step = 1e-3
    above, below = (structure.marginals(scores + way * step * direction, multi_root)[0] for way in (1.0, -1.0))
    _, marginals = structure.marginals(scores, multi_root)
    assert (marginals * direction).sum() == pytest.approx((above - below) / (2 * step), abs=1e-4)
    assert (marginals >= 0).all() and not marginals[:, 0].any() and not np.diag(marginals).any()
    np.testing.assert_allclose(marginals.sum(0)[1:], 1.0, rtol=1e-9)
    if not multi_root:
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-10)


@roots
@pytest.mark.parametrize("depth", [1.0, 30.0, 300.0])
def test_probable_arcs_that_form_a_cycle(depth, multi_root):
    """Nothing but the cycle 1 ⇄ 2 is probable, and no tree holds it."""
    scores = np.full((4, 4), -depth)
    scores[1, 2] = scores[2, 1] = scores[0, 3] = 0.0
    scores[3, 1] = scores[3, 2] = -depth + np.log(3.0)
    if not multi_root:
        scores[0, 1] = scores[0, 2] = FORBIDDEN
    marginals = check(SPANNING, scores, multi_root, 1e-13)
    assert marginals[1, 2] == pytest.approx(marginals[2, 1], rel=1e-14)


@roots
def test_a_group_that_only_the_root_enters(multi_root):
    """A single root must be in it."""
    n = 5
    scores = np.random.default_rng(0).normal(size=(n + 1, n + 1))
    for size in range(1, n + 1):
        for group in itertools.combinations(range(1, n + 1), size):
            closed = scores.copy()
            closed[np.ix_([h for h in range(1, n + 1) if h not in group], group)] = FORBIDDEN
            check(SPANNING, closed, multi_root, 1e-12)


@roots
def test_a_tree_whose_potential_underflows(multi_root):
    """The only tree has two arcs of -600, on the only path out of the cycle of the first two tokens."""
    for a, b, c, d in itertools.permutations(range(1, 5)):
        scores = np.full((5, 5), FORBIDDEN)
        scores[b, a] = scores[a, b] = scores[a, c] = scores[0, d] = 0.0
        scores[c, a] = scores[d, c] = -600.0
        log_partition, marginals = SPANNING.marginals(scores, multi_root)
        assert log_partition == pytest.approx(-1200.0)
        assert marginals.sum() == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("scores", "multi_root", "expected"),
    [
        ([[0, 0, 0], [0, 0, 800], [0, 800, 0]], True, 800 + math.log(2)),
        ([[0, -195, -95], [0, 0, -828], [0, -115, 0]], False, -210.0),
    ],
)
def test_potentials_that_are_no_float64(scores, multi_root, expected):
    """A likely cycle, and a likely tree with two roots where one is allowed."""
    scores = np.array(scores, np.float64)
    marginals = check(SPANNING, scores, multi_root, 1e-12)
    assert SPANNING.marginals(scores, multi_root)[0] == pytest.approx(expected, rel=1e-14)
    assert marginals.sum() == pytest.approx(2.0, rel=1e-14)


@roots
def test_rates_that_nearly_underflow(multi_root):
    """The tokens leave for the root in order 1 only, at rates relative to nearly nothing."""
    f = FORBIDDEN
    scores = np.array([[0, f, 0, 0, 2], [0, f, f, -3, f], [0, f, 0, -1, -1], [0, f, 0, 0, 0], [f, f, 0, 0, 0.0]])
    scores = np.where(scores == FORBIDDEN, FORBIDDEN, scores * 300.0)
    check(SPANNING, scores, multi_root, 1e-6, 300.0, 1e-12)
    scores[3, :2] = FORBIDDEN, 0.0
    check(SPANNING, scores, multi_root, 1e-6, 300.0, 1e-12)


@given(scores=score_matrices(), multi_root=st.booleans(), scale=st.sampled_from([300.0, 1e4, 1e8]))
def test_scores_far_apart(scores, multi_root, scale):
    """A likely cycle leaves only trees whose potentials, relative to each token's best arc, underflow.

    If other trees remain, the probability of an improbable arc may become 0: sums are not repeated then.
    """
    check(SPANNING, np.where(scores == FORBIDDEN, FORBIDDEN, scores * scale), multi_root, 1e-6, scale, 1e-12)


@roots
def test_no_tree(multi_root):
    """Tokens that nothing enters, and two groups of which each needs a root of its own."""
    scores = np.zeros((5, 5))
    scores[[0, 1, 2], 3] = scores[[0, 1, 2], 4] = FORBIDDEN
    assert SPANNING.marginals(scores, multi_root)[0] == -np.inf
    assert not SPANNING.marginals(scores, multi_root)[1].any()
    scores = np.zeros((5, 5))
    for group in ([1, 2], [3, 4]):
        scores[np.ix_([h for h in (1, 2, 3, 4) if h not in group], group)] = FORBIDDEN
    log_partition, marginals = SPANNING.marginals(scores, multi_root)
    if multi_root:
        assert log_partition == pytest.approx(np.log(9.0), rel=1e-14)
    else:
        assert log_partition == -np.inf and not marginals.any()
