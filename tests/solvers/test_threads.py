"""Solvers that call all oracles at one w do so in threads, and find the same."""

import numpy as np
import pytest

from spacy_ssvm.solvers import oracle_pass
from spacy_ssvm.solvers.certificate import slacks
from spacy_ssvm.solvers.dcd import Cpd, Dcd
from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.solvers.l1 import Extragradient
from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.structures.tree.parts import PROJECTIVE_SIBLINGS

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, random_problem
from .running import epochs

SOLVERS = {
    "CPD": Cpd(check_oracle=True),
    "1-slack": OneSlack(C=0.01, check_oracle=True),
    "SAP in batches": Sap(batch=True, rho1=0.1),
    "extragradient": Extragradient(C=1.0, check_oracle=True),
    "DCD": Dcd(check_oracle=True),
}
PROBLEMS = {
    "chains": lambda: random_problem(3, n_examples=300, n_labels=4, max_length=12, n_rows=60),
    "trees": lambda: tree_problem(3, n_examples=12, structure=PROJECTIVE_SIBLINGS),
}


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(oracle_pass, "PART", 3)
    monkeypatch.setattr(oracle_pass, "AHEAD", 10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_weights_and_figures_do_not_depend_on_the_number_of_threads(solver, kind):
    problem = PROBLEMS[kind]()
    alone, shared = (epochs(start(SOLVERS[solver], problem, n_threads=n_threads), 4) for n_threads in (1, 4))
    assert np.count_nonzero(alone.w)
    assert np.array_equal(alone.w, shared.w)
    assert alone.progress() == shared.progress()
    assert alone.certificate() == shared.certificate()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_planes_come_in_the_order_of_the_examples(n_threads):
    """Largest violations are those that enumeration finds."""
    problem = random_problem(1, n_examples=20, max_length=3)
    w = np.random.default_rng(0).normal(size=problem.dimension)
    planes = all_planes(problem)
    g = planes.losses - planes.differences @ w
    largest = np.array([g[planes.examples == example].max() for example in range(20)])
    examples = np.random.default_rng(1).permutation(20)
    found = list(oracle_pass.find_all(problem, w, examples, n_threads))
    assert np.array_equal(np.concatenate([part for part, _ in found]), examples)
    assert np.allclose(np.concatenate([planes.violations for _, planes in found]), largest[examples])
    assert slacks(problem, w, n_threads=n_threads) == pytest.approx((largest.sum(), (largest**2).sum()))


def test_planes_of_any_size_find_room():
    """The room for what a part finds grows: each token has some ten thousand features here."""
    problem = random_problem(0, n_examples=7, n_labels=2, max_length=2, n_rows=12_000, active=11_000, noise=1.0)
    w = np.random.default_rng(0).normal(size=problem.dimension)
    for part, found in oracle_pass.find_all(problem, w, np.arange(7)):
        for k in range(len(part)):
            begin, end = found.starts[k], found.starts[k + 1]
            g = found.losses[k] - w[found.indices[begin:end]] @ found.values[begin:end]
            assert g == pytest.approx(found.violations[k])


def test_gradients_are_the_same_but_for_rounding():
    problem = PROBLEMS["chains"]()
    w = np.random.default_rng(0).normal(size=problem.dimension)
    alone, shared, again = (sum_losses(problem, w, 1.0, 1.0, n_threads=n_threads) for n_threads in (1, 3, 3))
    assert shared.value == again.value
    assert np.array_equal(shared.descent, again.descent)
    assert shared.value == pytest.approx(alone.value, rel=1e-12)
    assert np.allclose(shared.descent, alone.descent, rtol=0, atol=1e-10)


def test_more_threads_than_examples():
    problem = random_problem(0, n_examples=2)
    w = np.zeros(problem.dimension)
    shared = sum_losses(problem, w, 1.0, 1.0, n_threads=5)
    assert shared.value == pytest.approx(sum_losses(problem, w, 1.0, 1.0).value)
    assert slacks(problem, w, n_threads=5) == slacks(problem, w)
