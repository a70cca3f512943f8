"""`check_oracle` is silent where decoding is exact, and names the example where it is not."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ssvm.kernels import kernel
from spacy_ssvm.models.chain.oracles import max_oracle
from spacy_ssvm.solvers.fit import fit
from spacy_ssvm.solvers.parameters import Cpd, Dcd, FrankWolfe, LseCuttingPlane, LseSdcd, OneSlack, Sap, Sdm, dcd_light
from spacy_ssvm.structures.tree.parts import PROJECTIVE_SIBLINGS

from ..models.tree.enumeration import tree_problem
from ..problems import random_problem

SOLVERS = {
    "DCD-SSVM": Dcd,
    "DCD-Light": dcd_light,
    "CPD": Cpd,
    "1-slack": OneSlack,
    "Frank-Wolfe": FrankWolfe,
    "SDM": Sdm,
    "SAP": Sap,
    "SAP, costs to move": lambda **keys: Sap(nu=0.1, mu=0.1, **keys),
    "SAP, batch": lambda **keys: Sap(nu=0.1, batch=True, **keys),
    "LSE, SDCD": LseSdcd,
    "LSE, cutting plane": LseCuttingPlane,
}


@kernel
def lazy_oracle(data, example, weights, loss_scale, indices, values):
    """Says of every third example that nothing beats the gold structure."""
    if example % 3 == 1:
        return 0, 0.0
    return max_oracle(data, example, weights, loss_scale, indices, values)


@pytest.mark.parametrize("solver", SOLVERS)
def test_exact_oracles_are_never_beaten(solver):
    problems = [random_problem(real=True)]
    if not solver.startswith("LSE"):
        problems.append(tree_problem(5, structure=PROJECTIVE_SIBLINGS))
    for problem in problems:
        checked, _ = fit(SOLVERS[solver](C=0.1, check_oracle=True), problem, 15)
        unchecked, _ = fit(SOLVERS[solver](C=0.1), problem, 15)
        np.testing.assert_array_equal(checked.prediction_weights(), unchecked.prediction_weights())


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_oracle_that_misses_what_is_known_is_found_out(solver):
    problem = random_problem()
    learner, _ = fit(SOLVERS[solver](C=0.01, check_oracle=True), problem, 3)
    learner.extend(replace(problem, max_oracle=lazy_oracle))
    with pytest.raises(AssertionError, match=r"the (oracle of example \d+|sum of the oracles) finds .* not exact"):
        learner.begin_epoch(np.random.default_rng(0))
