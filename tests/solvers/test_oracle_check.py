"""`check_oracle` is silent where decoding is exact, and names the example where it is not."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ssvm.kernels import kernel
from spacy_ssvm.models.chain.oracles import max_oracle
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.structures.tree.parts import PROJECTIVE_SIBLINGS

from ..models.tree.enumeration import tree_problem
from ..problems import random_problem
from .test_contract import SOLVERS, names

checked = names(
    without=("perceptron", "MIRA", "prediction MIRA", "SGD", "DCA", "L-BFGS", "EG", "projected subgradient")
)


@kernel
def lazy_oracle(data, example, weights, loss_scale, indices, values):
    """Says of every third example that nothing beats the gold structure."""
    if example % 3 == 1:
        return 0, 0.0
    return max_oracle(data, example, weights, loss_scale, indices, values)


@checked
def test_exact_oracles_are_never_beaten(name):
    problems = [random_problem(real=True)]
    if not name.startswith("LSE"):
        problems.append(tree_problem(5, structure=PROJECTIVE_SIBLINGS))
    for problem in problems:
        with_check, without = (fit(replace(SOLVERS[name], check_oracle=on), problem, 6)[0] for on in (True, False))
        np.testing.assert_array_equal(with_check.prediction_weights(), without.prediction_weights())


@checked
def test_an_oracle_that_misses_a_known_plane_is_found_out(name):
    problem = random_problem()
    learner, _ = fit(replace(SOLVERS[name], C=0.01, check_oracle=True), problem, 3)
    learner.change(replace(problem, max_oracle=lazy_oracle))
    with pytest.raises(AssertionError, match=r"the (oracle of example \d+|sum of the oracles) finds .* not exact"):
        learner.begin_epoch(np.random.default_rng(0))
