"""Perceptron and MIRA step for step against plain Python, averages included; SGD on the hinge loss."""

import numpy as np
import pytest

from spacy_ssvm.solvers.learner import fit, start
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sgd import Sgd

from ..problems import all_planes, objective, random_problem
from . import reference
from .reference import Enumerated

PROBLEMS = {
    "indicators": random_problem(1, max_length=4, n_rows=8),
    "real values": random_problem(2, max_length=4, n_rows=8, real=True),
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def visits(problem, epochs=3):
    rng = np.random.default_rng(5)
    return np.concatenate([rng.permutation(problem.n_examples) for _ in range(epochs)])


def check_steps(parameters, problem, expected, averaged):
    learner = start(parameters, problem)
    total, examples = np.zeros(problem.dimension), visits(problem)
    for visit, (example, w) in enumerate(zip(examples, expected(Enumerated(problem), examples), strict=True), 1):
        learner.visit(np.array([example]))
        total += w
        result = total / visit if averaged else w
        np.testing.assert_allclose(learner.prediction_weights(), result, rtol=0, atol=1e-9)
    assert np.abs(result).max() > 0.01
    return learner


def test_perceptron(problem):
    learner = check_steps(Perceptron(), problem, reference.perceptron, averaged=True)
    planes, examples, w, mistakes = Enumerated(problem), visits(problem), np.zeros(problem.dimension), 0.0
    for example, w_next in zip(examples, reference.perceptron(planes, examples)):
        mistakes += planes.oracle(example, w, 0.0)[1]
        w = w_next
    assert learner.progress().loss == mistakes


@pytest.mark.parametrize("C", [1 / 64, 1 / 8, 100.0])
def test_mira(problem, C):
    """The smallest C caps every step, the largest none. Powers of two keep equal scores equal."""
    check_steps(Mira(C=C), problem, lambda planes, examples: reference.mira(planes, examples, C), averaged=True)


def test_visiting_all_at_once_is_visiting_one_by_one(problem):
    for parameters in (Perceptron(), Mira(), Sgd(eta0=0.25)):
        together, apart = start(parameters, problem), start(parameters, problem)
        together.visit(visits(problem))
        for example in visits(problem):
            apart.visit(np.array([example]))
        assert together.prediction_weights().tobytes() == apart.prediction_weights().tobytes()


def test_sgd_refuses_steps_that_turn_the_weights_around(problem):
    with pytest.raises(ValueError, match=r"raise solver\.C or lower solver\.eta0"):
        start(Sgd(C=0.01, eta0=0.5), problem).visit(np.arange(3))
    with pytest.raises(ValueError, match="too small for SGD on 30 examples"):
        fit(Sgd(C=1e-4), problem, max_epochs=1)


@pytest.mark.parametrize(("before", "now"), [(30, 10), (10, 30)])
def test_sgd_decays_for_the_most_examples_so_far(before, now):
    """A streamed problem holds its last batch only, which may be small."""
    problems = {n: random_problem(1, n_examples=n, max_length=4, n_rows=8) for n in (10, 30)}
    streamed, whole = start(Sgd(eta0=0.25), problems[before]), start(Sgd(eta0=0.25), problems[30])
    streamed.change(problems[now])
    whole.change(problems[now])
    for learner in (streamed, whole):
        learner.visit(np.arange(10))
    assert streamed.prediction_weights().tobytes() == whole.prediction_weights().tobytes()


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_sgd_comes_near_the_optimum(problem, C):
    planes = all_planes(problem)
    _, certificate = fit(Sap(C=C, rho1=0, rho2=1), problem, max_epochs=300)
    learner, none = fit(Sgd(C=C), problem, max_epochs=300)
    assert none is None
    assert certificate.dual <= objective(planes, learner.prediction_weights(), C, 1) <= 1.02 * certificate.primal
