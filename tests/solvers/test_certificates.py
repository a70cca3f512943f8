"""Duality gaps of the dual solvers: never negative, shrinking to the tolerance, true to their definition."""

from functools import cache

import numpy as np
import pytest

from spacy_ssvm.models.chain.problem import chain_problem
from spacy_ssvm.solvers.fit import fit, start
from spacy_ssvm.solvers.parameters import Dcd, Mira, Perceptron, Sap, Sgd, dcd_light
from spacy_ssvm.structures.tree.parts import PROJECTIVE_SIBLINGS, SPANNING

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, objective, random_problem

ROUNDING = 1e-12

SOLVERS = {
    "DCD-Light": lambda C: dcd_light(C=C, delta=0),
    "DCD-SSVM": lambda C: Dcd(C=C, delta=0),
    "DCD-SSVM, delta": lambda C: Dcd(C=C),
    "SAP, no L1": lambda C: Sap(C=C, rho1=0, rho2=1),
    "SAP": lambda C: Sap(C=C, rho1=0.1, rho2=0.5),
    "SAP, sparse": lambda C: Sap(C=C, rho1=1, rho2=0.3),
}


PROBLEMS = {
    "indicators": lambda: random_problem(4, max_length=4),
    "real values": lambda: random_problem(4, max_length=4, real=True),
    "projective trees": lambda: tree_problem(4),
    "spanning trees": lambda: tree_problem(4, structure=SPANNING, max_length=3),
    "trees with siblings": lambda: tree_problem(4, structure=PROJECTIVE_SIBLINGS),
}


@cache
def with_planes(kind):
    problem = PROBLEMS[kind]()
    return problem, all_planes(problem)


def primal_of(parameters, planes, w):
    """The objective by enumeration."""
    if isinstance(parameters, Sap):
        return objective(planes, w, parameters.C, 1, parameters.rho1, parameters.rho2)
    return objective(planes, w, parameters.C, 2)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.02, 0.5])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_epoch(solver, C, kind):
    """The dual never decreases, the gap is never negative, and the primal is what enumeration says."""
    problem, planes = with_planes(kind)
    parameters = SOLVERS[solver](C)
    learner, rng = start(parameters, problem), np.random.default_rng(0)
    dual = 0.0
    for _ in range(20):
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(problem.n_examples))
        running = learner.progress().dual
        certificate = learner.certificate()
        assert running == pytest.approx(certificate.dual, rel=1e-9)
        assert certificate.primal == pytest.approx(primal_of(parameters, planes, learner.w), rel=1e-9)
        assert certificate.dual >= dual - ROUNDING * abs(dual)
        # A plane is kept in single precision: real feature values are rounded once.
        assert certificate.gap >= -(1e-6 if kind == "real values" else ROUNDING) * certificate.primal
        dual = certificate.dual


@pytest.mark.parametrize("solver", SOLVERS)
def test_fit_stops_at_its_tolerance(solver):
    problem = random_problem(5)
    parameters = SOLVERS[solver](0.05)
    learner, certificate = fit(parameters, problem, max_epochs=1000)
    assert -ROUNDING <= certificate.relative_gap <= parameters.tolerance
    visited = learner.progress().loss
    _, again = fit(parameters, problem, max_epochs=2000)
    assert again == certificate, "more epochs were allowed, none was used"
    assert visited > 0


@pytest.mark.parametrize("solver", ["DCD-SSVM", "SAP, no L1", "SAP"])
def test_a_tight_gap_is_reached(solver):
    parameters = SOLVERS[solver](0.1)
    tight = type(parameters)(**{**vars(parameters), "tolerance": 1e-7})
    _, certificate = fit(tight, random_problem(6), max_epochs=1000)
    assert certificate.relative_gap <= 1e-7


def test_max_epochs_ends_a_fit_that_has_not_converged():
    _, certificate = fit(Dcd(C=1.0, tolerance=0), random_problem(5), max_epochs=2)
    assert certificate.relative_gap > 1e-3


def test_the_running_primal_becomes_the_primal():
    problem = random_problem(6)
    for parameters in (Dcd(C=0.1, tolerance=1e-7, delta=0), Sap(C=0.1, tolerance=1e-7)):
        learner, certificate = fit(parameters, problem, max_epochs=1000)
        assert learner.progress().primal == pytest.approx(certificate.primal, rel=1e-6)


@pytest.mark.parametrize("parameters", [Perceptron(), Mira(), Sgd()])
def test_solvers_without_a_dual_have_no_certificate(parameters):
    learner, certificate = fit(parameters, random_problem(5), max_epochs=2)
    assert certificate is None and learner.certificate() is None
    assert learner.progress().dual is None and learner.progress().planes is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_to_learn(solver):
    """One label only: every plane is the gold one, and all is solved at w = 0 after one epoch."""
    problem = random_problem(0, n_labels=1)
    learner, certificate = fit(SOLVERS[solver](1.0), problem, max_epochs=3)
    assert certificate == (0.0, 0.0)
    assert not learner.w.any() and learner.progress().planes == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_planes_of_zero_norm(solver):
    """Without features every ΔΦ of a single token vanishes though Δ = 1: ξ = 1 whatever w, and dual equals primal."""
    problem = random_problem(0, n_examples=7, n_labels=2, max_length=1)
    bare = chain_problem(problem.data._replace(feature_starts=np.zeros_like(problem.data.feature_starts)), 12)
    learner, certificate = fit(SOLVERS[solver](0.25), bare, max_epochs=2)
    assert certificate.primal == pytest.approx(7 * 0.25, rel=1e-12)
    assert certificate.gap == pytest.approx(0.0, abs=1e-12)
    assert not learner.w.any()


@pytest.mark.parametrize("parameters", [Perceptron(), Mira(), Sgd(eta0=0.1)])
def test_online_solvers_survive_planes_of_zero_norm(parameters):
    problem = random_problem(0, n_examples=7, n_labels=2, max_length=1)
    bare = chain_problem(problem.data._replace(feature_starts=np.zeros_like(problem.data.feature_starts)), 12)
    learner, _ = fit(parameters, bare, max_epochs=2)
    assert not learner.prediction_weights().any()


@pytest.mark.parametrize("parameters", [Perceptron(), Mira(), Sgd(eta0=0.05), Dcd(), Sap()])
def test_no_examples(parameters):
    learner, _ = fit(parameters, random_problem(0, n_examples=0), max_epochs=2)
    assert not learner.prediction_weights().any()
