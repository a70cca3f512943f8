"""Chains with many labels, whose transitions are numbered in the order of their use, against all weights by row."""

import numpy as np
import pytest

from spacy_ssvm.models.chain.decoders import has_many_labels, learning_decoder
from spacy_ssvm.models.chain.numbering import NO_PAIR, new_numbering, new_steps, pairs_of, used_steps
from spacy_ssvm.models.chain.oracles import chain_problem, problem_by_use
from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import unconstrained, with_fixed

from .test_numbering import R, random_chains


def nothing(n_labels, frequent=()):
    numbering = new_numbering(R, n_labels, np.array(frequent, np.int64))
    return numbering, new_steps(n_labels, np.zeros(0, np.int64))


def many_label_problem(chains, numbering, steps):
    """steps: None, if transitions are numbered as ever."""
    decoder = chains.decoder if steps is None else learning_decoder(chains.constraints, steps)
    return problem_by_use(chains._replace(numbering=numbering, decoder=decoder))


def by_row(vector, numbering, steps, n_labels):
    """The weights of a vector as `Chains` lays them out."""
    begin, pairs = n_labels * n_labels, pairs_of(numbering, n_labels)
    used = np.arange(begin) if steps is None else used_steps(steps)
    weights = np.zeros(begin + R * n_labels)
    weights[used] = vector[: len(used)]
    taken = np.flatnonzero(pairs != NO_PAIR)
    weights[begin + pairs[taken]] = vector[begin + taken]
    assert not vector[len(used) : begin].any() and not vector[begin + len(pairs) :].any()
    assert not vector[begin + np.flatnonzero(pairs == NO_PAIR)].any()
    return weights


@pytest.mark.parametrize("numbers_steps", [True, False])
@pytest.mark.parametrize("n_labels", [1, 2, 9, 80])
@pytest.mark.parametrize("solver", [Dcd(seed=0, tolerance=0), Perceptron(seed=0)])
@pytest.mark.parametrize("frequent", [[], [0, 3]])
@pytest.mark.parametrize("n_attributes", [0, 3])
@pytest.mark.parametrize("n_kinds", [1, 4])
def test_learning_is_the_same_but_for_rounding(n_labels, solver, frequent, n_attributes, n_kinds, numbers_steps):
    n_labels += n_attributes
    chains = random_chains(n_labels, n_attributes=n_attributes, n_kinds=n_kinds)
    numbering, steps = nothing(n_labels, frequent)
    steps = steps if numbers_steps else None
    expected, rows = fit(solver, chain_problem(chains, R), 8)
    found, used = fit(solver, many_label_problem(chains, numbering, steps), 8)
    weights = by_row(found.prediction_weights(), numbering, steps, n_labels)
    np.testing.assert_allclose(weights, expected.prediction_weights(), atol=1e-12)
    assert used == pytest.approx(rows, abs=1e-10)


def test_steps_are_restored():
    chains, (numbering, steps) = random_chains(6), nothing(6)
    fit(Dcd(seed=0), many_label_problem(chains, numbering, steps), 3)
    used = used_steps(steps)
    assert len(np.unique(used)) == len(used) > 5
    restored = new_steps(6, used)
    assert all(np.array_equal(*parts) for parts in zip(restored, steps))


@pytest.mark.parametrize("used", [[0, 0], [36], [-1]])
def test_impossible_steps_are_refused(used):
    with pytest.raises(ValueError, match="its solver state has weights of transitions"):
        new_steps(6, np.array(used))


def test_only_free_chains_with_many_labels_have_them_left_out():
    free = unconstrained(64)
    assert has_many_labels(free) and has_many_labels(with_fixed(free)) and not has_many_labels(unconstrained(63))
    assert not has_many_labels(free._replace(transition=np.where(np.eye(64) == 1.0, FORBIDDEN, 0.0)))
