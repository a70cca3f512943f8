"""Sums of products against sums of logarithms, and both against enumeration, for scores far apart and long inputs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain import forward_backward, scored
from spacy_ssvm.structures.chain.biluo import biluo_constraints, n_states, run, segments_above
from spacy_ssvm.structures.chain.scored import ChainScores, Run, TransitionScores
from spacy_ssvm.structures.tree import projective
from spacy_ssvm.structures.tree.max_marginals import arc_max_marginals, max_marginals
from spacy_ssvm.structures.tree.parts import Parts

from .test_scored import chains, check, listed, listed_parts, probabilities, segmented, sequences

SCALES = st.sampled_from([30.0, 300.0, 1e4])
BETAS = st.sampled_from([1e-3, 1.0, 30.0])


def scaled(drawn: ChainScores, scale: float) -> ChainScores:
    """The scores times `scale`, except those that rule something out."""
    between = drawn.between
    parts = [drawn.tokens, between.transitions, between.start, between.end]
    tokens, *others = (np.where(part > FORBIDDEN / 2, scale * part, FORBIDDEN) for part in parts)
    return ChainScores(tokens, TransitionScores(*others))


def in_logs(drawn: ChainScores, beta: float) -> tuple[float, np.ndarray]:
    between = drawn.between
    parts = drawn.tokens, between.transitions, between.start, between.end
    total, labels, *_ = scored._all_logs(*(np.where(p > FORBIDDEN / 2, beta * p, FORBIDDEN) for p in parts))
    return total, labels


@pytest.mark.parametrize("name", ["labels", "segments"])
@given(data=st.data(), scale=SCALES, beta=BETAS)
def test_sequences_with_scores_far_apart(name, data, scale, beta):
    drawn = scaled(data.draw(chains() if name == "labels" else segmented()), scale)
    ys, expected = sequences(drawn), {}
    for y, probability in zip(ys, probabilities(ys, beta)):
        for part in listed_parts(name, y):
            expected[part] = expected.get(part, 0.0) + probability
    found = drawn.marginals(beta)
    check(listed(name, found, 1e-6), expected, 1e-6)
    for part, probability in expected.items():
        assert found.probability(part) == pytest.approx(probability, abs=1e-8)
    total, labels = in_logs(drawn, beta)
    np.testing.assert_allclose(found.labels, labels, rtol=0, atol=1e-8)
    assert drawn.log_partition(beta) == pytest.approx(total, rel=1e-12, abs=1e-9)


def test_both_ways_are_taken():
    """One label is better up to a token, another one from there on: no product in doubles has both."""
    for height, is_product in ((10.0, True), (900.0, False)):
        tokens = np.array([[height, 0.0], [0.0, 0.0], [0.0, height + 1.0]])
        transitions = np.array([[0.0, FORBIDDEN], [FORBIDDEN, 0.0]])
        drawn = ChainScores(tokens, TransitionScores(transitions, np.zeros(2), np.zeros(2)))
        found = drawn.marginals(1.0)
        assert found.lattice.in_logs != is_product
        expected = np.array([1.0, np.e]) / (1.0 + np.e)
        np.testing.assert_allclose(found.labels, np.tile(expected, (3, 1)), rtol=1e-12)
        assert found.probability(Run(0, (1, 1, 1))) == pytest.approx(expected[1], rel=1e-12)
        assert drawn.log_partition(1.0) == pytest.approx(height + np.log1p(np.e), rel=1e-14)
        labels, counts = np.empty((3, 2)), np.zeros((2, 2))
        forward_backward.marginals(tokens, transitions, np.zeros(2), np.zeros(2), labels, counts)
        np.testing.assert_allclose(labels, found.labels, rtol=1e-12)
        np.testing.assert_allclose(counts, np.diag(2 * expected), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(("scale", "beta"), [(1.0, 1.0), (10.0, 4.0), (1.0, 1e-3)])
def test_a_long_sequence(scale, beta):
    rng, allowed, n = np.random.default_rng(0), biluo_constraints(4), n_states(4)
    transitions = scale * rng.normal(size=(n, n)) + allowed.transition
    drawn = ChainScores(scale * rng.normal(size=(2000, n)), TransitionScores(transitions, allowed.start, allowed.end))
    found = drawn.marginals(beta)
    assert not found.lattice.in_logs
    total, labels = in_logs(drawn, beta)
    np.testing.assert_allclose(found.labels, labels, rtol=0, atol=1e-10)
    assert drawn.log_partition(beta) == pytest.approx(total, rel=1e-12)
    for part, probability in segments_above(found, 0.01):
        assert found.probability(part) == pytest.approx(probability, rel=1e-10)
    part = run(700, 703, 2)
    first, inside, last = part.labels
    kept = drawn.tokens.copy()
    for token, label in zip(range(700, 703), (first, inside, last)):
        kept[token, np.arange(n) != label] = FORBIDDEN
    log_ratio = replace(drawn, tokens=kept).log_partition(beta) - drawn.log_partition(beta)
    assert np.log(found.probability(part)) == pytest.approx(log_ratio, abs=1e-9)


def arcs(n: int, scale: float, seed: int) -> np.ndarray:
    """Scores of arcs, float64 [n + 1, n + 1], of which two thirds are ruled out, though not every tree."""
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((n + 1, n + 1)) < 2 / 3, FORBIDDEN, scale * rng.normal(size=(n + 1, n + 1)))
    scores[np.arange(n), np.arange(1, n + 1)] = scale
    return scores


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 23, 90])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
def test_trees_by_products_and_in_logs(n, multi_root, scale):
    scores = arcs(n, scale, n)
    products, logs = np.full((n + 1, n + 1), np.nan), np.zeros((n + 1, n + 1))
    total = projective.projective_marginals(scores, multi_root, products)
    expected = projective._marginals_in_logs(scores, multi_root, logs)
    assert total == pytest.approx(expected, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(products, logs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("multi_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 23])
def test_maxima_of_arcs_are_those_of_parts_without_pairs(n, multi_root):
    scores = arcs(n, 3.0, n)
    modifiers, heads = np.nonzero(scores.T[1:] > FORBIDDEN / 2)
    modifiers += 1
    kept = heads != modifiers
    heads, modifiers = heads[kept].astype(np.int32), modifiers[kept].astype(np.int32)
    number = np.full((n + 1, n + 1), -1, np.int32)
    number[heads, modifiers] = np.arange(len(heads))
    starts, nothing, zeros = np.zeros(len(heads) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)
    parts = Parts(number, heads, modifiers, scores[heads, modifiers], starts, nothing, zeros, starts, nothing, zeros)
    found = arc_max_marginals(scores, multi_root)[heads, modifiers]
    expected = max_marginals(parts, multi_root)
    impossible = expected <= FORBIDDEN / 2
    assert ((found <= FORBIDDEN / 2) == impossible).all()
    np.testing.assert_allclose(found[~impossible], expected[~impossible], rtol=0, atol=1e-10)
