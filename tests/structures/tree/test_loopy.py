"""Loopy belief propagation against enumeration; where it is not exact, against what it promises."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.tree.loopy import build_automata, loopy_decode, loopy_marginals, run_automaton
from spacy_ssvm.structures.tree.parts import NONE, Parts, dense_scores, score_tree

from .enumeration import is_tree, make_parts, parts_score, scored_parts, trees
from .first_order import SPANNING, roots


def legal_trees(parts: Parts, multi_root: bool) -> list[tuple[tuple[int, ...], float]]:
    """All trees of candidates, with their scores."""
    every = trees(len(parts.number) - 1, False, multi_root)
    kept = [y for y in every if all(parts.number[y[m], m] != NONE for m in range(1, len(y)))]
    return [(y, parts_score(parts, y)) for y in kept]


def expectations(parts: Parts, multi_root: bool) -> tuple[float, np.ndarray]:
    """The true log-partition and marginals of the arcs."""
    every = legal_trees(parts, multi_root)
    largest = max(score for _, score in every)
    weights = [math.exp(score - largest) for _, score in every]
    marginals = np.zeros(len(parts.heads))
    for (y, _), weight in zip(every, weights):
        for m in range(1, len(y)):
            marginals[parts.number[y[m], m]] += weight / sum(weights)
    return largest + math.log(sum(weights)), marginals


def parts_of(rng: np.random.Generator, candidates: np.ndarray, scale: float, pairs: float, only_first: bool) -> Parts:
    """Random scores of the candidates, bool [n + 1, n + 1], and of all pairs or, only_first, of first children."""

    def pair(*nodes) -> float | None:
        return None if only_first and None not in nodes else rng.normal(0.0, pairs * scale)

    return make_parts(candidates, lambda h, m: rng.normal(0.0, scale), pair, pair)


def random_parts(rng: np.random.Generator, n: int, most: int, scale: float = 1.0) -> Parts:
    """Up to `most` candidate heads for each token, the one before among them, and all pairs."""
    candidates = np.eye(n + 1, k=1, dtype=np.bool_)
    for m in range(1, n + 1):
        candidates[rng.permutation(np.setdiff1d(np.arange(n + 1), [m - 1, m]))[: most - 1], m] = True
    return parts_of(rng, candidates, scale, 0.5, False)


def rescored(parts: Parts, score: Callable[[np.ndarray], np.ndarray]) -> Parts:
    """The same parts with other scores of arcs and pairs."""
    fields = ("scores", "sibling_scores", "grand_scores")
    return parts._replace(**{field: score(getattr(parts, field)) for field in fields})


def marginals(
    parts: Parts, multi_root: bool, max_iterations: int = 100, tolerance: float = 1e-9
) -> tuple[float, int, bool, np.ndarray]:
    beliefs = np.full(len(parts.heads), np.nan)
    return (*loopy_marginals(parts, multi_root, max_iterations, tolerance, beliefs), beliefs)


def decode(parts: Parts, multi_root: bool, max_iterations: int = 10) -> tuple[float, tuple[int, ...]]:
    heads = np.full(len(parts.number), 7, np.int32)
    score = loopy_decode(parts, multi_root, max_iterations, 1e-3, heads)
    return score, tuple(int(h) for h in heads)


@given(scored_parts(max_tokens=4), st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_tree_score_is_that_of_the_definition(parts, random):
    every = trees(len(parts.number) - 1, False, True)
    for y in random.sample(every, min(len(every), 30)):
        candidates = all(parts.number[y[m], m] != NONE for m in range(1, len(y)))
        assert score_tree(parts, np.array(y, np.int32)) == pytest.approx(parts_score(parts, y), abs=1e-9)
        assert (score_tree(parts, np.array(y, np.int32)) > FORBIDDEN / 2) == candidates


@given(scored_parts(max_tokens=5, grandparents=False), st.data())
@settings(max_examples=60)
def test_automaton_sums_over_all_sets_of_children(parts, data):
    automata = build_automata(parts)
    seen = []
    for automaton in range(len(automata.starts) - 1):
        arcs = automata.arcs[automata.starts[automaton] : automata.starts[automaton + 1]]
        seen.extend(arcs)
        if len(arcs) == 0:
            continue
        head = automaton // 2
        assert all(parts.heads[arcs] == head)
        assert all((parts.modifiers[arcs] > head) == bool(automaton % 2))
        odds = np.array(data.draw(st.lists(st.floats(-30, 30), min_size=len(arcs), max_size=len(arcs))))
        weights = {}
        for taken in itertools.product((False, True), repeat=len(arcs)):
            children = sorted(arcs[list(taken)], key=lambda arc: abs(parts.modifiers[arc] - head))
            total = sum(odds[list(taken)])
            for inner, arc in zip([NONE, *children], children):
                listed = slice(parts.sibling_starts[arc], parts.sibling_starts[arc + 1])
                total += parts.sibling_scores[listed][parts.siblings[listed] == inner].sum()
            weights[taken] = total
        answers = np.zeros(len(arcs))
        log_partition = run_automaton(automata, automaton, odds, answers)
        assert log_partition == pytest.approx(np.logaddexp.reduce(list(weights.values())), abs=1e-9)
        for c in range(len(arcs)):
            present = np.logaddexp.reduce([w for taken, w in weights.items() if taken[c]])
            absent = np.logaddexp.reduce([w for taken, w in weights.items() if not taken[c]])
            assert answers[c] == pytest.approx(present - absent - odds[c], abs=1e-8)
    assert sorted(seen) == list(range(len(parts.heads)))


@given(scored_parts(max_tokens=4, siblings=False, grandparents=False), st.booleans())
def test_exact_without_pairs(parts, multi_root):
    estimate, iterations, converged, beliefs = marginals(parts, multi_root)
    log_partition, exact = SPANNING.marginals(dense_scores(parts), multi_root)
    assert estimate == pytest.approx(log_partition, abs=1e-12)
    assert (iterations, converged) == (1, True)
    assert beliefs == pytest.approx(exact[parts.heads, parts.modifiers], abs=1e-12)
    score, heads = decode(parts, multi_root)
    assert score == pytest.approx(max(score for _, score in legal_trees(parts, multi_root)), abs=1e-9)
    assert score == pytest.approx(parts_score(parts, heads), abs=1e-9)


def only_neighbours(rng) -> Parts:
    """Siblings of first children only, and one candidate a side: pairs are scores of arcs, and there is no loop."""
    neighbours = np.eye(6, k=1, dtype=bool) | np.eye(6, k=-1, dtype=bool)
    neighbours[:, 0] = False
    return parts_of(rng, neighbours, 1.0, 1.0, True)


def grandparents_of_one_arc(rng) -> Parts:
    """Token 1 has no head but the root, so that each GRAND with that arc touches one uncertain arc."""
    candidates = ~np.eye(5, dtype=bool)
    candidates[:, 0], candidates[1:, 1] = False, False

    def grand(g, h, m) -> float | None:
        return rng.normal(0.0, 2.0) if h == 1 else None

    return make_parts(candidates, lambda h, m: rng.normal(), None, grand)


@roots
@pytest.mark.parametrize("make", [only_neighbours, grandparents_of_one_arc])
def test_exact_where_each_factor_touches_one_uncertain_arc(make, multi_root):
    rng = np.random.default_rng(1)
    for _ in range(20):
        parts = make(rng)
        truth, exact = expectations(parts, multi_root)
        estimate, _, converged, beliefs = marginals(parts, multi_root)
        assert converged
        assert estimate == pytest.approx(truth, abs=1e-7)
        assert beliefs == pytest.approx(exact, abs=1e-7)


@roots
@pytest.mark.parametrize("n", [3, 5])
def test_beliefs_are_the_gradient_of_the_bethe_estimate(n, multi_root):
    """True at a fixed point of belief propagation, and nowhere else in general (Yedidia et al. 2005)."""
    rng = np.random.default_rng(3)
    parts = random_parts(rng, n, 4, 0.7)
    _, _, converged, beliefs = marginals(parts, multi_root, 400, 1e-12)
    assert converged
    for arc in range(len(parts.heads)):
        estimates = []
        for step in (-1e-4, 1e-4):
            moved = parts.scores.copy()
            moved[arc] += step
            estimates.append(marginals(parts._replace(scores=moved), multi_root, 400, 1e-12)[0])
        assert (estimates[1] - estimates[0]) / 2e-4 == pytest.approx(beliefs[arc], abs=1e-6)


@given(scored_parts(max_tokens=4), st.booleans(), st.integers(1, 6))
@settings(max_examples=60)
def test_decoded_tree_is_legal_and_not_above_the_best(parts, multi_root, max_iterations):
    score, heads = decode(parts, multi_root, max_iterations)
    assert heads[0] == NONE
    assert is_tree(heads) and (multi_root or heads.count(0) == 1)
    assert score == pytest.approx(parts_score(parts, heads), abs=1e-9)
    every = legal_trees(parts, multi_root)
    assert score <= max(score for _, score in every) + 1e-9
    first_order = max(every, key=lambda tree: sum(parts.scores[parts.number[h, m]] for m, h in enumerate(tree[0]) if m))
    if all(abs(s - t) > 1e-6 for s, t in itertools.combinations(parts.scores, 2)):
        assert score >= first_order[1] - 1e-9
    beliefs = marginals(parts, multi_root, max_iterations)[3]
    assert np.bincount(parts.modifiers, beliefs)[1:] == pytest.approx(1.0, abs=1e-6)


@roots
def test_near_the_truth_on_random_sentences(multi_root):
    """Arcs of deviation 1 and pairs of deviation 1/2: a hard mix."""
    rng = np.random.default_rng(4)
    exact, errors, partition_errors = [], [], []
    for _ in range(60):
        parts = random_parts(rng, 4, 4)
        truth, expected = expectations(parts, multi_root)
        estimate, _, converged, beliefs = marginals(parts, multi_root, 50, 1e-4)
        assert converged
        exact.append(decode(parts, multi_root)[0] > max(s for _, s in legal_trees(parts, multi_root)) - 1e-9)
        errors.append(np.abs(beliefs - expected).mean())
        partition_errors.append(abs(estimate - truth))
    assert np.mean(exact) > 0.85
    assert np.mean(errors) < 0.04
    assert np.mean(partition_errors) < 0.2


@roots
@pytest.mark.parametrize("scale", [50.0, 1000.0])
def test_large_scores(scale, multi_root):
    rng = np.random.default_rng(6)
    rounds = []
    for _ in range(30):
        parts = rescored(random_parts(rng, 6, 5), lambda scores: rng.choice([-scale, scale], len(scores)))
        estimate, iterations, converged, beliefs = marginals(parts, multi_root, 20)
        assert np.isfinite(estimate) and np.isfinite(beliefs).all()
        assert beliefs.min() >= 0.0
        assert np.bincount(parts.modifiers, beliefs)[1:] == pytest.approx(1.0, abs=1e-5)
        rounds.append((iterations, converged))
        score, heads = decode(parts, multi_root)
        assert is_tree(heads) and (multi_root or heads.count(0) == 1)
        assert score == pytest.approx(parts_score(parts, heads))
    assert (20, False) in rounds


def test_too_few_rounds_are_reported():
    parts = random_parts(np.random.default_rng(7), 6, 5)
    assert marginals(parts, False, 1)[1:3] == (1, False)
    assert marginals(parts, False, 3)[1:3] == (3, False)


@roots
def test_no_tokens(multi_root):
    parts = make_parts(np.zeros((1, 1), np.bool_), lambda h, m: 0.0)
    assert decode(parts, multi_root) == (0.0, (NONE,))
    assert marginals(parts, multi_root)[:3] == (0.0, 1, True)


@roots
def test_no_tree_among_the_candidates(multi_root):
    """Tokens 1 and 2 can only be each other's heads: one arc has to be broken."""
    candidates = np.zeros((4, 4), np.bool_)
    candidates[[2, 1, 2, 1, 0], [1, 2, 3, 3, 3]] = True
    parts = parts_of(np.random.default_rng(10), candidates, 1.0, 0.5, False)
    estimate, _, converged, beliefs = marginals(parts, multi_root)
    assert (estimate, converged) == (-np.inf, False)
    assert (beliefs == 0.0).all()
    score, heads = decode(parts, multi_root)
    assert is_tree(heads) and (multi_root or heads.count(0) == 1)
    assert score == pytest.approx(parts_score(parts, heads))
    assert 2 * FORBIDDEN < score < FORBIDDEN / 2


def test_long_sentence():
    parts = random_parts(np.random.default_rng(9), 200, 6, 2.0)
    score, heads = decode(parts, False)
    assert is_tree(heads) and heads.count(0) == 1
    assert score == pytest.approx(parts_score(parts, heads))
    assert score > decode(parts, False, 1)[0]
    beliefs = marginals(parts, False, 10)[3]
    assert np.bincount(parts.modifiers, beliefs)[1:] == pytest.approx(1.0, abs=1e-6)
