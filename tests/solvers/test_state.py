"""A state from a file that kernels could not read within the bounds of their arrays is refused, whatever its solver."""

from copy import deepcopy

import numpy as np
import pytest

from spacy_ssvm.solvers.dcd import Cpd
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.lse import LseCuttingPlane
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.sap import Sap

from ..problems import random_problem
from .running import epochs

FAR = 10**6
CPD, ONE_SLACK, CUTS, SAP = Cpd(C=0.5), OneSlack(C=0.5), LseCuttingPlane(C=0.5), Sap(C=0.5, nu=1.0)
EG, LBFGS = ExponentiatedGradient(C=0.5), Lbfgs(C=0.5)


def put(value, *keys):
    """What sets an entry of a state."""

    def damage(state):
        for key in keys[:-1]:
            state = state[key]
        state[keys[-1]] = value(state[keys[-1]])

    return damage


def shorter(array):
    return array[:-1]


DAMAGES = {
    "a link to no plane": (CPD, put(lambda _: FAR, "planes", "next", 0)),
    "a list that is a circle": (CPD, put(lambda _: 0, "planes", "next", 0)),
    "a list too few": (CPD, put(shorter, "planes", "head")),
    "a plane without a loss": (CPD, put(shorter, "planes", "loss")),
    "a plane beyond its entries": (CPD, put(lambda size: size + FAR, "planes", "size", 0)),
    "an entry beyond the weights": (CPD, put(lambda _: 0xFFFC, "planes", "codes", 0)),
    "a negative dual variable": (CPD, put(lambda _: -1.0, "planes", "alpha", 0)),
    "more planes than there are": (CPD, put(lambda count: count + 1, "planes", "counts", 0)),
    "an index beyond the weights": (ONE_SLACK, put(lambda _: FAR, "indices", 1, 0)),
    "a negative index": (ONE_SLACK, put(lambda _: -1, "indices", 1, 0)),
    "an index without a value": (ONE_SLACK, put(shorter, "values", 1)),
    "a plane without a dual variable": (ONE_SLACK, put(shorter, "alpha")),
    "products of fewer planes": (ONE_SLACK, put(lambda gram: gram[:-1, :-1], "gram")),
    "a cut with no such plane": (CUTS, put(lambda _: np.array([FAR]), "cuts", -1)),
    "a cut without a loss": (CUTS, put(shorter, "linear")),
    "a coordinate beyond the weights": (SAP, put(lambda _: FAR, "box", "moving", 0)),
    "more coordinates than move": (SAP, put(lambda size: size + 1, "box", "size", 0)),
    "cliques beyond the last": (EG, put(lambda _: FAR, "distributions", "starts", 1)),
    "a step of fewer weights": (LBFGS, put(shorter, "steps", 0)),
    "a step without a change": (LBFGS, put(shorter, "changes")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_kernels_cannot_read_is_refused(name):
    parameters, damage = DAMAGES[name]
    problem = random_problem(10)
    # L-BFGS forgets its steps at the optimum.
    n_epochs = 1 if parameters is LBFGS else 3
    state = deepcopy(epochs(start(parameters, problem), n_epochs).state())
    start(parameters, problem).restore(deepcopy(state), np.random.default_rng(0))
    damage(state)
    with pytest.raises(ValueError, match=r"its |is of a wrong|does not fit|out of range"):
        start(parameters, problem).restore(state, np.random.default_rng(0))
