"""The oracles of chains against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.data import make_chains, plane_entries
from spacy_ssvm.models.chain.oracles import chain_problem, feature_difference
from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import unconstrained

from ..oracles import check_gradient, check_kbest, check_max, dense
from .enumeration import joint_feature, loss, tiny_chains


@given(tiny_chains(), st.data())
def test_feature_difference(tiny, data):
    """Any sequence, legal or not; gold leaves nothing."""
    d, room = len(tiny.weights), int(plane_entries(tiny.chains).max())
    for example in tiny.examples:
        gold = tiny.gold(example)
        drawn = data.draw(st.lists(st.integers(0, tiny.n_labels - 1), min_size=len(gold), max_size=len(gold)))
        for y in (drawn, gold):
            indices, values = np.zeros(room, np.int64), np.zeros(room)
            entries, found = feature_difference(tiny.chains, example, np.array(y, np.int32), indices, values)
            expected = joint_feature(tiny.chains, example, gold, d) - joint_feature(tiny.chains, example, y, d)
            np.testing.assert_allclose(dense(indices[:entries], values[:entries], d), expected, atol=1e-12)
            assert found == pytest.approx(loss(tiny.chains, example, y), abs=1e-12)
        assert entries == 0 and found == 0.0


@given(tiny_chains(), st.sampled_from([0.0, 1.0]))
def test_max_oracle(tiny, loss_scale):
    problem = chain_problem(tiny.chains, tiny.n_rows)
    for example in tiny.examples:
        check_max(problem, example, tiny.weights, loss_scale, *tiny.planes(example))


@given(
    tiny_chains(), st.sampled_from([0.3, 1.0, 2.5]), st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([1, 1e3, 1e5])
)
def test_gradient(tiny, beta, gamma, scale):
    """Differences of scores up to some 700 are factors that a float64 holds, larger ones are none."""
    tiny = replace(tiny, weights=scale * tiny.weights)
    problem = chain_problem(tiny.chains, tiny.n_rows)
    for example in tiny.examples:
        check_gradient(
            problem, example, tiny.weights, beta, gamma, *tiny.planes(example), atol=max(1e-9, 1e-10 * scale)
        )


@given(tiny_chains(), st.integers(1, 40), st.sampled_from([0.0, 0.5, 1.0]))
def test_kbest(tiny, k, loss_scale):
    problem = chain_problem(tiny.chains, tiny.n_rows)
    for example in tiny.examples:
        check_kbest(problem, example, tiny.weights, loss_scale, k, *tiny.planes(example))


def test_the_gradient_of_a_long_sequence_with_large_scores():
    """Each token has a feature of its own, whose derivatives by label sum to 0, as probabilities sum to 1."""
    T, L = 20_000, 3
    rng = np.random.default_rng(0)
    gold = rng.integers(0, L, T)
    chains = make_chains(np.array([0, T]), np.arange(T + 1), np.arange(T), gold, unconstrained(L))
    problem = chain_problem(chains, T)
    blocks = rng.normal(0, 1e4, (T, 1)) + rng.normal(size=(T, L)) + 1e4
    weights = np.concatenate([rng.normal(size=L * L), blocks.ravel()])
    gradient = sum_losses(problem, weights, 1.0, 0.0).descent
    assert np.abs(gradient[L * L :].reshape(T, L).sum(axis=1)).max() <= 1.1e-8
    # Each step is one token's share, so that its probabilities sum to 1 as well, up to the last digit of its log-sums.
    assert abs(gradient[: L * L].sum()) <= 1e-6 * T


@pytest.mark.parametrize("score", [-300.0, -460.0, -740.0, -2000.0])
def test_no_digit_is_lost_where_the_only_way_is_an_improbable_one(score):
    """exp(−740) is a float64 of one digit, beside the transitions to label 0, after which no sequence may end."""
    ends, weights = unconstrained(2)._replace(end=np.array([FORBIDDEN, 0.0])), np.array([0.0, score, 0.0, score + 0.5])
    gold, nothing = np.array([0, 1]), np.zeros(0, np.int64)
    problem = chain_problem(make_chains(np.array([0, 2]), np.zeros(3, np.int64), nothing, gold, ends), 0)
    value, descent = sum_losses(problem, weights, 1.0, 0.0)
    phi = joint_feature(problem.data, 0, gold, 4)
    assert value + weights @ phi == pytest.approx(score + np.log1p(np.exp(0.5)), rel=1e-14)
    second = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(phi - descent, [0, 1 - second, 0, second], atol=1e-12)
