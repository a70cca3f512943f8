"""Learners that go on with other parameters reach the optimum that these have, not another."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ssvm.solvers.dca import Dca
from spacy_ssvm.solvers.dcd import Cpd, Dcd
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.l1 import Extragradient
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.lse import LseCuttingPlane, LseSdcd
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sdm import Sdm
from spacy_ssvm.solvers.sgd import Sgd

from ..problems import all_planes, objective, optimum, random_problem, summed_errors, summed_errors_optimum
from .running import epochs, until

PROBLEM = random_problem(n_examples=5, max_length=2, n_rows=4, active=2)
PLANES = all_planes(PROBLEM)
PATH = (0.03, 0.5, 0.1)
"""C grows and shrinks."""
TIGHT = {"tolerance": 1e-6}
SOLVERS = {
    "DCD": (Dcd(delta=0, **TIGHT), 2, 200),
    "CPD": (Cpd(delta=0, **TIGHT), 2, 100),
    "SDM": (Sdm(**TIGHT), 1, 400),
    "SAP": (Sap(rho1=0.1, **TIGHT), 1, 400),
    "1-slack": (OneSlack(**TIGHT), 1, 300),
    "Frank-Wolfe": (FrankWolfe(**TIGHT), 1, 1500),
    "SAP with costs": (Sap(rho1=0.1, nu=0.1, mu=0.01, **TIGHT), 1, 500),
}
"""Parameters, power of the slacks, and how many epochs are enough for a small gap."""


def least(parameters, C, power):
    """The smallest value of the objective."""
    return objective(PLANES, optimum(PLANES, C, power, *penalty(parameters)), C, power, *penalty(parameters))


def penalty(parameters):
    return (parameters.rho1, parameters.rho2) if isinstance(parameters, Sap) else (0.0, 1.0)


def go_on(learner, n_epochs, **changes):
    assert learner.retune(replace(learner.parameters, **changes))
    return until(learner, 5e-5, n_epochs)


@pytest.mark.parametrize("name", SOLVERS)
def test_each_step_of_a_path_reaches_its_own_optimum(name):
    """The dual variables are feasible at once: the dual objective is not above the optimum."""
    parameters, power, n_epochs = SOLVERS[name]
    learner = epochs(start(replace(parameters, C=0.01), PROBLEM, None), 3)
    for C in PATH:
        best = least(parameters, C, power)
        assert 0 < go_on(learner, 0, C=C).certificate().dual <= best * (1 + 1e-6)
        certificate = until(learner, 5e-5, n_epochs).certificate()
        assert certificate.primal == pytest.approx(best, rel=1e-3)
        assert certificate.dual == pytest.approx(best, rel=1e-3)
        reached = objective(PLANES, learner.prediction_weights(), C, power, *penalty(parameters))
        assert reached == pytest.approx(certificate.primal, rel=1e-5)


def test_the_penalty_of_sap_can_change_too():
    learner = epochs(start(Sap(C=0.2, rho1=0.5), PROBLEM, None), 100)
    for rho1 in (0.1, 0.3):
        found = go_on(learner, 400, rho1=rho1).certificate()
        assert found.primal == pytest.approx(least(learner.parameters, 0.2, 1), rel=1e-3)


@pytest.mark.parametrize("parameters", [LseSdcd(), LseCuttingPlane()], ids=lambda p: type(p).__name__)
def test_lse(parameters):
    learner = epochs(start(replace(parameters, C=0.3), PROBLEM, None), 10)
    for C in PATH:
        best = summed_errors(PLANES, summed_errors_optimum(PLANES, C), C)
        assert summed_errors(PLANES, go_on(learner, 200, C=C).w, C) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("kind", [LseSdcd, LseCuttingPlane])
@pytest.mark.parametrize("oracles", [("outside", "printed"), ("printed", "outside"), ("printed", "printed")])
def test_the_printed_oracle_of_lse_starts_anew(kind, oracles):
    """What it ends at depends on the planes that have been found, whatever C or oracle has found them."""
    learner = epochs(start(kind(oracle=oracles[0]), PROBLEM, None), 3)
    w = learner.w.tobytes()
    assert not learner.retune(kind(C=0.3, oracle=oracles[1]))
    assert learner.w.tobytes() == w and learner.parameters == kind(oracle=oracles[0])


@pytest.mark.parametrize("make, n_epochs", [(Lbfgs, 8), (ExponentiatedGradient, 40)])
def test_smooth_solvers(make, n_epochs):
    learner = epochs(start(make(C=0.3), PROBLEM, None), 2)
    for changes in ({"C": 1.0}, {"beta": 3.0, "gamma": 0.0}, {"C": 0.05}):
        found = go_on(learner, n_epochs, **changes).certificate()
        anew = epochs(start(Lbfgs(**changes_of(learner.parameters)), PROBLEM, None), 8).certificate()
        assert found.primal == pytest.approx(anew.primal, rel=1e-4)
        assert found.relative_gap < 1e-4


def changes_of(parameters):
    return {name: getattr(parameters, name) for name in ("C", "beta", "gamma")}


def test_an_average_starts_anew():
    learner = epochs(start(FrankWolfe(C=0.5, averaging=True), PROBLEM, None), 5)
    for C in PATH:
        found = go_on(learner, 1000, C=C).certificate()
        assert found.primal == pytest.approx(least(learner.parameters, C, 1), rel=5e-3)


@pytest.mark.parametrize(
    "parameters", [Perceptron(), Mira(), Dca(), Sgd(), Extragradient()], ids=lambda p: type(p).__name__
)
def test_other_solvers_have_to_start_anew(parameters):
    learner = start(parameters, PROBLEM, np.ones(PROBLEM.dimension))
    assert not learner.retune(parameters)
    assert np.array_equal(learner.w, np.ones(PROBLEM.dimension))


def test_what_is_made_of_forgotten_examples_does_not_go_on():
    for parameters in (Dcd(), OneSlack(), Lbfgs()):
        learner = epochs(start(parameters, PROBLEM, None), 2)
        learner.change(learner.problem, np.array([0]), subtracts=False)
        assert not learner.retune(parameters)
