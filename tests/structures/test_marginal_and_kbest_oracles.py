"""The oracles of chains that are not the max-oracle, against enumeration."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.problem import chain_problem, multiclass_problem

from .enumeration import joint_feature, loss, sequences, tiny_chains
from .oracles import check_gradient, check_kbest


def planes_of(tiny, example):
    d = len(tiny.weights)
    gold = joint_feature(tiny.chains, example, tiny.gold(example), d)
    ys = sequences(tiny.chains, example)
    differences = np.array([gold - joint_feature(tiny.chains, example, y, d) for y in ys])
    return differences, np.array([loss(tiny.chains, example, y) for y in ys])


@given(tiny_chains(), st.sampled_from([0.3, 1.0, 2.5]), st.sampled_from([0.0, 1.0, 3.0]))
def test_gradient(tiny, beta, gamma):
    problem = chain_problem(tiny.chains, tiny.n_rows)
    for example in tiny.examples:
        check_gradient(problem, example, tiny.weights, beta, gamma, *planes_of(tiny, example))


@given(tiny_chains(), st.integers(1, 7), st.sampled_from([0.0, 1.0]))
def test_kbest(tiny, k, loss_scale):
    problem = chain_problem(tiny.chains, tiny.n_rows)
    for example in tiny.examples:
        check_kbest(problem, example, tiny.weights, loss_scale, k, *planes_of(tiny, example))


def test_classes_are_chains_of_length_one():
    """Class c of example i has the plane x_i at the gold class's weights, −x_i at those of c, and loss 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 2)).astype(np.float32)
    gold = np.array([2, 0, 1])
    problem = multiclass_problem(np.arange(0, 7, 2), np.tile([0, 1], 3), x.ravel(), gold, 3, 2)
    assert (problem.n_examples, problem.dimension) == (3, 3 * 3 + 2 * 3)
    weights = rng.normal(size=problem.dimension)
    for i in range(3):
        differences = np.zeros((3, problem.dimension))
        for c in range(3):
            block = np.zeros((2, 3))
            block[:, gold[i]] += x[i]
            block[:, c] -= x[i]
            differences[c, 9:] = block.ravel()
        losses = (np.arange(3) != gold[i]).astype(float)
        check_gradient(problem, i, weights, 1.0, 1.0, differences, losses)
        check_kbest(problem, i, weights, 1.0, 3, differences, losses)
