"""What a config may say about a solver, and the message where it may not."""

import math
import re
import warnings
from inspect import signature

import numpy as np
import pytest

from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.solvers.dcd import Dcd, dcd_light
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.parameters import LARGEST, LARGEST_BETA, SMALLEST
from spacy_ssvm.solvers.problem import Problem

from ..models.tree.enumeration import tree_problem
from ..problems import random_problem

SOLVERS = {name.split(".")[1]: make for name, make in ssvm_solvers.get_all().items()}
NUMBER = ("be a finite number", [math.nan, -math.inf, "high", [0.1], True])
POSITIVE = ("be positive", [0, -1, -0.0])
NOT_NEGATIVE = ("not be negative", [-1e-3])
WHOLE = ("be a whole number of at least 0, not", [0.5, 2.5, -1])
FLAG = ("be true or false, not 'yes'", ["yes"])
FAULTS = {
    **dict.fromkeys(["C", "rho2", "epsilon", "eta0", "beta"], (NUMBER, POSITIVE)),
    **dict.fromkeys(["tolerance", "delta", "rho1", "nu", "mu", "gamma"], (NUMBER, NOT_NEGATIVE)),
    **dict.fromkeys(["seed", "inner_passes", "idle_epochs", "kappa1"], (NUMBER, WHOLE)),
    **dict.fromkeys(["k", "kappa2"], (NUMBER, WHOLE, ("be positive", [0]))),
    "iterations": [NUMBER, POSITIVE, ("be a whole number", [1.5])],
    **dict.fromkeys(["check_oracle", "averaging", "batch", "proximal"], (FLAG,)),
    "schedule": [('be "bottou", "printed" or "epochs", not', ["constant"])],
    "oracle": [('be "outside" or "printed", not', ["best"])],
}


@pytest.mark.parametrize(
    ("solver", "name"), [(solver, name) for solver in SOLVERS for name in signature(SOLVERS[solver]).parameters]
)
def test_bad_values_are_named(solver, name):
    for message, values in FAULTS[name]:
        for value in values:
            with pytest.raises(ValueError, match=rf"solver\.{name} must {re.escape(message)}"):
                SOLVERS[solver](**{name: value})


LIMITED = ["C", "beta", "gamma", "rho1", "rho2", "nu", "mu", "epsilon", "eta0", "delta"]
PROBLEMS = {"chains": lambda: random_problem(0, n_examples=6), "trees": lambda: tree_problem(0, n_examples=3)}


@pytest.mark.parametrize(
    ("solver", "name"),
    [(solver, name) for solver in SOLVERS for name in signature(SOLVERS[solver]).parameters if name in LIMITED],
)
def test_the_ends_of_the_range_of_floats_are_refused(solver, name):
    largest = LARGEST_BETA if name == "beta" else LARGEST
    said = re.escape(f"solver.{name} must be between 1e-30 and {largest:g}, not ")
    for value in (1e308, 1e300, 1e100, 1.1 * largest, 0.9e-30, 1e-100, 1e-308, 5e-324):
        with pytest.raises(ValueError, match=said):
            SOLVERS[solver](**{name: value})


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("value", [SMALLEST, LARGEST])
@pytest.mark.parametrize(
    ("solver", "name"),
    [(solver, name) for solver in SOLVERS for name in signature(SOLVERS[solver]).parameters if name in LIMITED],
)
def test_what_is_not_refused_has_finite_results(solver, name, value, problem):
    """Or SGD, whose rate depends on the number of examples, says what is wrong with it."""
    smooth = {"beta": 1.0} if name == "gamma" and solver in ("SGD", "DCA") else {}
    if name == "beta" and value == LARGEST:
        value = LARGEST_BETA
    parameters = SOLVERS[solver](**{**smooth, name: value})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            learner, certificate = fit(parameters, PROBLEMS[problem](), max_epochs=6)
        except ValueError as error:
            assert solver == "SGD" and re.search(r"solver\.(C|eta0)", str(error))
            return
        figures = [number for number in learner.progress() if number is not None]
        assert np.isfinite(learner.prediction_weights()).all() and np.isfinite(figures).all()
        if certificate is not None:
            assert np.isfinite([*certificate, certificate.gap, certificate.relative_gap]).all()
            assert certificate.gap >= -1e-6 * abs(certificate.primal)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if "tolerance" in signature(SOLVERS[name]).parameters])
def test_a_tolerance_below_rounding_is_refused(solver):
    """That of planes in single precision; L-BFGS has none, and Frank–Wolfe's are rounded again in each step."""
    smallest = {"LBFGS": 0.0, "FrankWolfe": 1e-6, "ExponentiatedGradient": 1e-6}.get(solver, 1e-8)
    SOLVERS[solver](tolerance=0)
    SOLVERS[solver](tolerance=smallest)
    for tolerance in (smallest / 2, 1e-300) if smallest else ():
        with pytest.raises(ValueError, match=f"solver.tolerance must be at least {smallest:g}.* single precision"):
            SOLVERS[solver](tolerance=tolerance)


@pytest.mark.parametrize("solver", ["DCA", "SGD"])
def test_the_perceptrons_loss_is_refused(solver):
    with pytest.raises(ValueError, match=r"solver\.beta = inf with solver\.gamma = 0 .* raise solver\.gamma"):
        SOLVERS[solver](beta="inf", gamma=0)


@pytest.mark.parametrize("make, name", [(Lbfgs, "L-BFGS"), (ExponentiatedGradient, "exponentiated gradient")])
def test_what_is_not_smooth_is_refused(make, name):
    with pytest.raises(ValueError, match=rf"solver\.beta must be finite for {name}"):
        make(beta="inf", gamma=1)


def test_numbers_of_a_config_are_converted():
    """Configs hold ints and strings where a float is meant."""
    parameters = Dcd(C="0.5", inner_passes=3.0, delta=0)
    assert parameters == Dcd(C=0.5, inner_passes=3, delta=0.0)
    assert [type(value) for value in (parameters.C, parameters.inner_passes, parameters.delta)] == [float, int, float]
    assert Dcd(seed=2**53 + 1).seed == 2**53 + 1, "not by way of a float"


def test_dcd_light_has_no_inner_passes():
    assert dcd_light(C=2, delta=0.1, tolerance=0.2, seed=3) == Dcd(
        C=2, inner_passes=0, delta=0.1, tolerance=0.2, seed=3
    )


def test_more_weights_than_an_index_can_name():
    with pytest.raises(ValueError, match="use fewer or hashed features"):
        Problem(None, None, n_examples=1, dimension=2**31, plane_entries=np.ones(1, np.int64))
