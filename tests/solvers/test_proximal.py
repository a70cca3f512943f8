"""Learning that starts from earlier weights w₀ and is held to them: ½‖w − w₀‖² in place of ½‖w‖².

Objectives are evaluated here from all structures of a multi-class problem.
"""

import numpy as np
import pytest

from spacy_ssvm.solvers.dcd import Cpd, Dcd
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import run_epoch, start
from spacy_ssvm.solvers.lse import LseCuttingPlane, LseSdcd
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sdm import Sdm

from ..problems import all_planes, random_problem

C = 0.5
TIGHT = 1e-6
SOLVERS = {
    "DCD": Dcd(C=C, delta=0.0, tolerance=TIGHT),
    "CPD": Cpd(C=C, delta=0.0, tolerance=TIGHT),
    "FrankWolfe": FrankWolfe(C=C, tolerance=TIGHT),
    "averaged Frank-Wolfe": FrankWolfe(C=C, tolerance=TIGHT, averaging=True),
    "SDM": Sdm(C=C, tolerance=TIGHT),
    "OneSlack": OneSlack(C=C, tolerance=TIGHT),
    "SAP": Sap(C=C, rho1=0.2, rho2=0.7, tolerance=TIGHT),
    "SAP with costs": Sap(C=C, rho1=0.2, rho2=0.7, nu=0.1, mu=0.1, tolerance=TIGHT),
    "LBFGS": Lbfgs(C=C, beta=2.0, tolerance=TIGHT, proximal=True),
}


class Tiny:
    """Classes of random examples, weights to start from, and every plane."""

    def __init__(self, seed: int) -> None:
        self.problem = random_problem(seed, n_examples=12, max_length=1, n_rows=5, real=True)
        self.w0 = np.random.default_rng(seed).normal(0.0, 0.5, self.problem.dimension)
        self.planes = all_planes(self.problem)

    def violations(self, w: np.ndarray) -> np.ndarray:
        """g of every class of every example [n, classes]."""
        return (self.planes.losses - self.planes.differences @ w).reshape(12, -1)

    def penalty(self, parameters, w: np.ndarray) -> float:
        if not isinstance(parameters, Sap):
            return float((w - self.w0) @ (w - self.w0)) / 2

        def value(u):
            return parameters.rho1 * np.abs(u).sum() + parameters.rho2 / 2 * u @ u

        slope = parameters.rho1 * np.sign(self.w0) + parameters.rho2 * self.w0
        return float(value(w) - value(self.w0) - slope @ (w - self.w0))

    def primal(self, parameters, w: np.ndarray) -> float:
        g = self.violations(w)
        if isinstance(parameters, Lbfgs):
            loss = (np.log(np.exp(parameters.beta * g).sum(axis=1)) / parameters.beta).sum()
        else:
            loss = (g.max(axis=1) ** (2 if isinstance(parameters, Dcd | Cpd) else 1)).sum()
        return self.penalty(parameters, w) + C * float(loss)


def run(tiny, parameters, epochs):
    learner = start(parameters, tiny.problem, tiny.w0)
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        run_epoch(learner, rng)
        if learner.done():
            break
    return learner


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_certificate_is_that_of_the_proximal_objective(solver, seed):
    """Primal by enumeration; and as the dual never exceeds any primal, a closed gap proves the optimum."""
    tiny, parameters = Tiny(seed), SOLVERS[solver]
    learner = run(tiny, parameters, 3)
    certificate = learner.certificate()
    assert certificate.primal == pytest.approx(tiny.primal(parameters, learner.prediction_weights()), rel=1e-5)
    learner = run(tiny, parameters, 3000 if "Wolfe" not in solver else 300)
    certificate = learner.certificate()
    assert -1e-6 <= certificate.relative_gap < (0.02 if "Wolfe" in solver else 1e-3)
    at_start = tiny.primal(parameters, tiny.w0)
    assert certificate.primal < at_start
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        other = learner.prediction_weights() + scale * rng.normal(size=len(tiny.w0))
        assert certificate.dual <= tiny.primal(parameters, other)


@pytest.mark.parametrize("parameters", [LseSdcd(C=C, tolerance=TIGHT), LseCuttingPlane(C=C, tolerance=TIGHT)])
def test_both_solvers_of_the_summed_error(parameters):
    tiny = Tiny(1)
    learner = run(tiny, parameters, 300)
    w = learner.prediction_weights()
    g = tiny.violations(w)
    primal = tiny.penalty(parameters, w) + C * float(np.maximum(g, 0.0).sum())
    assert learner.progress().dual == pytest.approx(primal, rel=1e-3)


def test_without_the_option_lbfgs_forgets_where_it_started():
    tiny = Tiny(2)
    free = Lbfgs(C=C, beta=2.0, tolerance=TIGHT)
    learner, cold = start(free, tiny.problem, tiny.w0), start(free, tiny.problem)
    rng = np.random.default_rng(0)
    for one in (learner, cold):
        for _ in range(20):
            run_epoch(one, rng, np.arange(tiny.problem.n_examples))
    np.testing.assert_allclose(learner.prediction_weights(), cold.prediction_weights(), atol=1e-4)
    held = run(tiny, SOLVERS["LBFGS"], 20).prediction_weights()
    assert np.linalg.norm(held - tiny.w0) < np.linalg.norm(cold.prediction_weights() - tiny.w0)
