"""The perceptron step for step against plain Python, its average included; what SGD refuses, and its decay."""

import numpy as np
import pytest

from spacy_ssvm.solvers.learner import fit, start
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sgd import Sgd

from ..problems import random_problem
from .reference import Enumerated, perceptron
from .running import check_steps, visits

PROBLEMS = {
    "indicators": random_problem(1, max_length=4, n_rows=8),
    "real values": random_problem(2, max_length=4, n_rows=8, real=True),
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def test_perceptron(problem):
    planes, examples, learner = Enumerated(problem), visits(problem), start(Perceptron(), problem)
    check_steps(learner, examples, perceptron(planes, examples), averaged=True)
    w, mistakes = np.zeros(problem.dimension), 0.0
    for example, w_next in zip(examples, perceptron(planes, examples)):
        mistakes += planes.oracle(example, w, 0.0)[1]
        w = w_next
    assert learner.progress().loss == mistakes


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
