"""Costs in another unit: the same steps, exactly, where the unit is a power of two."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.dcd import Cpd, Dcd
from spacy_ssvm.solvers.l1 import Extragradient, ProjectedSubgradient
from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.problem import min_cost
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sgd import Sgd

from ..problems import random_problem
from .running import epochs
from .test_contract import SOLVERS, names

UNIT = 2.0**-40


def scaled(problem):
    """The same problem with costs of UNIT; its optimum is UNIT times that of the problem with other parameters."""
    chains = problem.data
    return chain_problem(chains._replace(costs=chains.costs * UNIT), 12)


def scaled_parameters(parameters):
    """Those with which the scaled problem has the optimum UNIT · w and the dual variables α, or UNIT · α.

    ½‖w‖² + C Σ ξ² scales with w alone, ½‖w‖² + C Σ ξ with C as well, and ‖w‖₁ + C Σ ξ not at all.
    """
    if isinstance(parameters, Cpd | Dcd):
        return replace(parameters, delta=parameters.delta * UNIT)
    if isinstance(parameters, Sap):
        costs = {"rho1": parameters.rho1 * UNIT, "nu": parameters.nu / UNIT, "mu": parameters.mu * UNIT}
        return replace(parameters, C=parameters.C * UNIT, **costs)
    if isinstance(parameters, ProjectedSubgradient):
        return replace(parameters, epsilon=parameters.epsilon * UNIT, eta0=parameters.eta0 * UNIT)
    if isinstance(parameters, Extragradient) or not hasattr(parameters, "C"):
        return parameters
    changed = {"C": parameters.C * UNIT}
    if hasattr(parameters, "beta"):
        changed["beta"] = parameters.beta / UNIT
    if isinstance(parameters, Sgd):
        changed["eta0"] = parameters.eta0 * UNIT
    return replace(parameters, **changed)


@names(without=("SGD, eta0 selected", "perceptron", "L-BFGS"))
@pytest.mark.parametrize("real", [False, True])
def test_the_same_steps(name, real):
    """Near the optimum, too: nothing that a solver neglects is of a size of its own."""
    problem = random_problem(4, max_length=4, real=real)
    ours = epochs(start(SOLVERS[name], problem), 40)
    theirs = epochs(start(scaled_parameters(SOLVERS[name]), scaled(problem)), 40)
    np.testing.assert_array_equal(theirs.prediction_weights() / UNIT, ours.prediction_weights())
    assert ours.prediction_weights().any()


def test_the_unit_is_the_smallest_cost_of_a_mistake():
    assert random_problem().unit == 1.0
    assert min_cost(np.array([0.0, 3.0, 0.5])) == 0.5
    assert min_cost(np.zeros(2)) == min_cost(np.zeros(0)) == np.inf
