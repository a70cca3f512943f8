"""Second-order projective decoding against enumeration, and against the first order on long sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.tree.parts import Parts, dense_scores
from spacy_ssvm.structures.tree.projective_siblings import eisner_siblings

from .enumeration import Pair, arcs_score, inner_neighbour, make_parts, parts_score, scored_parts, trees
from .first_order import PROJECTIVE, roots


def decode(parts, multi_root):
    heads = np.full(len(parts.number), 99, np.int32)
    score = eisner_siblings(parts, multi_root, heads)
    return score, tuple(heads.tolist())


def parts_of(scores: np.ndarray, pair_score: Pair | None = None) -> Parts:
    """Parts with the arcs that are not FORBIDDEN in a dense matrix."""
    return make_parts(scores != FORBIDDEN, lambda h, m: scores[h, m], pair_score)


def near_arcs(n: int, reach: int, others: tuple[int, ...] = ()) -> np.ndarray:
    """Random scores float64 [n + 1, n + 1], FORBIDDEN beyond this reach but for the heads of another tree."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    nodes = np.arange(n + 1)
    far = np.abs(nodes[:, None] - nodes) > reach
    far[list(others[1:]), range(1, len(others))] = False
    scores[far] = FORBIDDEN
    return scores


def check(parts, multi_root):
    score, tree = decode(parts, multi_root)
    siblings_only = parts._replace(grand_scores=np.zeros_like(parts.grand_scores))
    legal = trees(len(parts.number) - 1, True, multi_root)
    best = max(parts_score(siblings_only, other) for other in legal)
    assert tree in legal
    assert [score, parts_score(siblings_only, tree)] == pytest.approx([best, best], rel=1e-12, abs=1e-12)


@given(scored_parts(), st.booleans())
def test_eisner_siblings(parts, multi_root):
    check(parts, multi_root)


@given(st.integers(1, 5).flatmap(lambda n: arrays(np.bool_, (n + 1, n + 1))), st.booleans())
def test_the_fewest_arcs_that_are_no_candidates(allowed, multi_root):
    parts = parts_of(np.where(allowed, 0.5, FORBIDDEN), lambda h, s, m: 0.25)
    _, tree = decode(parts, multi_root)
    legal = trees(len(allowed) - 1, True, multi_root)
    missing = np.where(allowed, 0.0, 1.0)
    assert tree in legal
    assert arcs_score(missing, tree) == min(arcs_score(missing, other) for other in legal)


def test_no_tokens():
    assert decode(parts_of(np.zeros((1, 1))), False) == decode(parts_of(np.zeros((1, 1))), True) == (0.0, (-1,))


@roots
@pytest.mark.parametrize(("n", "reach"), [(60, 60), (60, 8), (500, 5)])
def test_first_order_where_pairs_score_nothing_but_their_outer_arc(n, reach, multi_root):
    scores = near_arcs(n, reach)
    of_arc = np.random.default_rng(1).normal(size=scores.shape)
    for parts, added in ((parts_of(scores), 0.0), (parts_of(scores, lambda h, s, m: of_arc[h, m]), of_arc)):
        score, tree = decode(parts, multi_root)
        expected, first_order = PROJECTIVE.best(dense_scores(parts) + added, multi_root)
        assert tree == first_order and score == pytest.approx(expected, rel=1e-12)


@roots
@pytest.mark.parametrize(("n", "reach"), [(60, 60), (500, 5)])
def test_pairs_of_one_tree_point_to_it(n, reach, multi_root):
    """Each arc of a hidden tree scores less than nothing, but with its inner neighbour more than any other can."""
    random = np.random.default_rng(2)
    _, hidden = PROJECTIVE.best(random.normal(size=(n + 1, n + 1)), multi_root)
    scores = np.where(near_arcs(n, reach, hidden) == FORBIDDEN, FORBIDDEN, 0.0)
    scores[list(hidden[1:]), range(1, n + 1)] = -0.5
    inner = [None, *(inner_neighbour(hidden, m) for m in range(1, n + 1))]
    parts = parts_of(scores, lambda h, s, m: float(hidden[m] == h and inner[m] == s))
    score, tree = decode(parts, multi_root)
    assert tree == hidden and score == pytest.approx(0.5 * n)
