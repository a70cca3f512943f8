"""Climbing from the best projective tree, against enumeration: what it promises, and how near it comes to the best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures.tree.climbing import climb, climbing_decode, has_crossing_arcs
from spacy_ssvm.structures.tree.parts import NONE, Parts

from .enumeration import is_projective, is_tree, make_parts, parts_score, scored_parts, trees
from .first_order import roots


def legal_trees(parts: Parts, multi_root: bool) -> list[tuple[tuple[int, ...], float]]:
    """All trees of candidates, with their scores."""
    every = trees(len(parts.number) - 1, False, multi_root)
    kept = [y for y in every if all(parts.number[y[m], m] != NONE for m in range(1, len(y)))]
    return [(y, parts_score(parts, y)) for y in kept]


def random_parts(rng: np.random.Generator, n: int, max_heads: int) -> Parts:
    """Up to `max_heads` candidate heads for each token, the one before among them, and random scores of all pairs."""
    candidates = np.eye(n + 1, k=1, dtype=np.bool_)
    for m in range(1, n + 1):
        candidates[rng.permutation(np.setdiff1d(np.arange(n + 1), [m - 1, m]))[: max_heads - 1], m] = True

    def pair(*_) -> float:
        return rng.normal(0.0, 0.5)

    return make_parts(candidates, lambda h, m: rng.normal(0.0, 1.0), pair, pair)


def decode(parts: Parts, multi_root: bool) -> tuple[float, tuple[int, ...]]:
    heads = np.full(len(parts.number), 7, np.int32)
    score = climbing_decode(parts, multi_root, heads)
    return score, tuple(int(h) for h in heads)


def others(parts: Parts, heads: tuple[int, ...], multi_root: bool) -> list[tuple[int, ...]]:
    """All trees of candidates in which a single token has another head."""
    changed = [(*heads[:m], int(h), *heads[m + 1 :]) for h, m in zip(parts.heads, parts.modifiers) if heads[m] != h]
    return [y for y in changed if is_tree(y) and (multi_root or y.count(0) == 1)]


@given(scored_parts(), st.booleans())
def test_no_single_head_and_no_simpler_decoder_is_better(parts, multi_root):
    score, heads = decode(parts, multi_root)
    assert heads[0] == NONE
    assert is_tree(heads) and (multi_root or heads.count(0) == 1)
    assert score == pytest.approx(parts_score(parts, heads), abs=1e-9)
    assert all(parts_score(parts, y) <= score + 1e-9 for y in others(parts, heads, multi_root))
    every = legal_trees(parts, multi_root)
    assert score <= max(score for _, score in every) + 1e-9
    assert all(score >= other - 1e-9 for y, other in every if is_projective(y))


@pytest.mark.parametrize("n", range(1, 6))
def test_arcs_cross_where_a_tree_is_not_projective(n):
    for heads in trees(n, False, True):
        assert has_crossing_arcs(np.array(heads, np.int32)) != is_projective(heads)


@given(scored_parts(siblings=False, grandparents=False), st.booleans())
def test_exact_without_pairs(parts, multi_root):
    score, heads = decode(parts, multi_root)
    assert score == pytest.approx(max(score for _, score in legal_trees(parts, multi_root)), abs=1e-9)
    assert score == pytest.approx(parts_score(parts, heads), abs=1e-9)


@given(scored_parts(), st.booleans(), st.data())
def test_climbs_from_any_tree(parts, multi_root, data):
    start, score = data.draw(st.sampled_from(legal_trees(parts, multi_root)))
    heads = np.array(start, np.int32)
    climb(parts, multi_root, heads)
    end = tuple(int(h) for h in heads)
    assert is_tree(end) and parts_score(parts, end) >= score - 1e-9
    assert not others(parts, start, multi_root) or end == start or parts_score(parts, end) > score
    assert multi_root or end.index(0) == start.index(0)


@roots
def test_near_the_truth_on_random_sentences(multi_root):
    """Arcs of deviation 1 and pairs of deviation 1/2, where the best tree of single arcs is the best one in 15 %."""
    rng = np.random.default_rng(4)
    best = []
    for _ in range(60):
        parts = random_parts(rng, 5, 4)
        best.append(decode(parts, multi_root)[0] > max(s for _, s in legal_trees(parts, multi_root)) - 1e-9)
    assert np.mean(best) > 0.75


@roots
@pytest.mark.parametrize("n", [0, 1])
def test_few_tokens(multi_root, n):
    parts = random_parts(np.random.default_rng(8), 1, 3) if n else make_parts(np.zeros((1, 1), np.bool_), float)
    total = parts.scores.sum() + parts.sibling_scores.sum()
    assert decode(parts, multi_root) == (pytest.approx(total), (NONE, 0)[: n + 1])
