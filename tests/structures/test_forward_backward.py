"""Log-partition and marginals against enumeration, to 1e-10, and their derivatives."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.oracles import marginals
from spacy_ssvm.structures.chain.constraints import FORBIDDEN, Constraints, unconstrained

from .enumeration import joint_feature, scores, sequences, tiny_chains


@given(tiny_chains(), st.sampled_from([0.0, 1.0, 0.5]), st.sampled_from([1.0, 30.0, 1e3, 1e5]))
def test_marginals(tiny, loss_scale, scale):
    """Differences of scores up to some 700 are factors that a float64 holds, larger ones are none."""
    tiny = replace(tiny, weights=scale * tiny.weights)
    tolerance = 1e-10 * scale
    for example in tiny.examples:
        ys = sequences(tiny.chains, example)
        values = scores(tiny, example, ys, loss_scale)
        log_partition = values.max() + np.log(np.exp(values - values.max()).sum())
        labels = np.zeros((len(tiny.gold(example)), tiny.n_labels))
        transitions = np.zeros((tiny.n_labels, tiny.n_labels))
        for y, probability in zip(ys, np.exp(values - log_partition)):
            labels[np.arange(len(y)), y] += probability
            for i, j in itertools.pairwise(y):
                transitions[i, j] += probability
        found = marginals(tiny.chains, example, tiny.weights, 1.0, loss_scale)
        assert found.log_partition == pytest.approx(log_partition, abs=tolerance)
        np.testing.assert_allclose(found.labels, labels, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found.transitions, transitions, rtol=0, atol=tolerance)


@given(tiny_chains())
def test_the_gradient_of_the_log_partition_is_the_expected_joint_feature(tiny):
    """∂ log Z / ∂w = E[Φ], by central differences along every coordinate."""
    step = 1e-5
    for example in tiny.examples:
        found = marginals(tiny.chains, example, tiny.weights)
        first = tiny.chains.starts[example]
        expected = np.zeros_like(tiny.weights)
        expected[: tiny.n_labels**2] = found.transitions.ravel()
        rows = expected[tiny.n_labels**2 :].reshape(-1, tiny.n_labels)
        for t, probabilities in enumerate(found.labels):
            for f in range(*tiny.chains.feature_starts[first + t : first + t + 2]):
                rows[tiny.chains.rows[f]] += tiny.chains.values[f] * probabilities
        for k, derivative in enumerate(expected):
            there, back = tiny.weights.copy(), tiny.weights.copy()
            there[k] += step
            back[k] -= step
            slope = (
                marginals(tiny.chains, example, there).log_partition
                - marginals(tiny.chains, example, back).log_partition
            ) / (2 * step)
            assert slope == pytest.approx(derivative, abs=1e-7)


def test_large_scores_neither_overflow_nor_vanish():
    """Scores of ±2,000: exp of them is not a float64, the probabilities are."""
    n_labels = 2
    chains = make_chains(np.array([0, 2]), np.array([0, 1, 2]), np.array([0, 1]), np.zeros(2), unconstrained(n_labels))
    for sign in (1.0, -1.0):
        weights = np.array([0.0, 0.0, 0.0, 0.0, 2000.0, 2000.0, 2000.0, 2001.0]) * sign
        found = marginals(chains, 0, weights)
        ys = list(itertools.product(range(n_labels), repeat=2))
        values = np.array([weights @ joint_feature(chains, 0, y, len(weights)) for y in ys])
        log_partition = values.max() + np.log(np.exp(values - values.max()).sum())
        assert found.log_partition == pytest.approx(log_partition, rel=1e-14)
        upper = 1 / (1 + np.exp(-sign))
        np.testing.assert_allclose(found.labels, [[0.5, 0.5], [1 - upper, upper]], atol=1e-12)


@pytest.mark.parametrize("score", [-300.0, -460.0, -740.0, -2000.0])
def test_no_digit_is_lost_where_the_only_way_is_an_improbable_one(score):
    """exp(−740) is a float64 of one digit, beside the transitions to label 0, after which no sequence may end."""
    free = unconstrained(2)
    ends = free._replace(end=np.array([FORBIDDEN, 0.0]))
    chains = make_chains(np.array([0, 2]), np.array([0, 0, 0]), np.zeros(0, np.int32), np.zeros(2), ends)
    found = marginals(chains, 0, np.array([0.0, score, 0.0, score + 0.5]))
    assert found.log_partition == pytest.approx(score + np.log1p(np.exp(0.5)), rel=1e-14)
    second = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(found.labels, [[1 - second, second], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(found.transitions, [[0, 1 - second], [0, second]], atol=1e-12)


@given(tiny_chains(constrained=False))
def test_an_empty_output_space_is_refused(tiny):
    end = np.full(tiny.n_labels, FORBIDDEN)
    start, _, transition, token = tiny.chains.constraints
    closed = tiny.chains._replace(constraints=Constraints(start, end, transition, token))
    for example in tiny.examples:
        if len(tiny.gold(example)):
            with pytest.raises(ValueError, match=f"rule out every label sequence of example {example}"):
                marginals(closed, example, tiny.weights)
        else:
            assert marginals(closed, example, tiny.weights).log_partition == 0.0
