"""The optimum that each solver with a certificate reaches, against SciPy on enumerated planes and scikit-learn."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from spacy_ssvm.solvers.dcd import Cpd, Dcd
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.sap import Sap

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, optimum, random_problem, single_tokens
from .test_contract import SOLVERS, is_certified, names, primal

PROBLEMS = {
    "0/1": lambda: random_problem(0, n_examples=5, max_length=2, n_rows=4, active=2),
    "0/1 again": lambda: random_problem(1, n_examples=5, max_length=2, n_rows=4, active=2),
    "real": lambda: random_problem(2, n_examples=5, max_length=2, n_rows=4, active=2, real=True),
    "trees": lambda: tree_problem(4, n_examples=3, max_length=2, n_labels=2),
}


@cache
def solved(kind, *objective_of):
    """A problem, its planes, and the optimal w, which without ‖w‖₁ is sought in the span of the planes."""
    problem = PROBLEMS[kind]()
    planes, (*_, rho1, _) = all_planes(problem), objective_of
    if rho1 > 0:
        return problem, planes, optimum(planes, *objective_of)
    _, scales, axes = np.linalg.svd(planes.differences, full_matrices=False)
    axes = axes[scales > 1e-9]
    spanned = replace(planes, differences=planes.differences @ axes.T)
    return problem, planes, optimum(spanned, *objective_of) @ axes


@names(is_certified, without="DCD-SSVM, delta")
@pytest.mark.parametrize("C", [0.05, 0.3])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_enumerated_optimum(name, C, kind):
    """To 1e-7, but Frank–Wolfe, which converges sublinearly, to 1e-4. With ρ₁ > 0 the zeros are the optimum's."""
    tolerance = 1e-4 if name.startswith("FW") else 1e-7
    parameters = replace(SOLVERS[name], C=C, tolerance=tolerance)
    rho1, rho2 = (parameters.rho1, parameters.rho2) if isinstance(parameters, Sap) else (0.0, 1.0)
    problem, planes, expected = solved(kind, C, 2 if isinstance(parameters, Dcd | Cpd) else 1, rho1, rho2)
    learner, certificate = fit(parameters, problem, max_epochs=5000)
    w, best = learner.prediction_weights(), primal(parameters, planes, expected)
    assert certificate.relative_gap <= tolerance
    assert certificate.primal == pytest.approx(best, rel=2 * tolerance)
    assert certificate.dual == pytest.approx(best, rel=2 * tolerance)
    assert primal(parameters, planes, w) == pytest.approx(certificate.primal, rel=1e-6)
    np.testing.assert_allclose(w, expected, atol=0.05 if name.startswith("FW") else 1e-3)
    if rho1 > 0:
        np.testing.assert_array_equal(np.abs(w) > 2e-3, np.abs(expected) > 2e-3)


def test_a_dual_above_the_primal_is_not_done():
    learner, _ = fit(Dcd(C=0.1), PROBLEMS["0/1"](), max_epochs=100)
    assert learner.done()
    learner.planes.loss[:] += 0.5
    with pytest.warns(UserWarning, match=r"the dual objective, .*, exceeds the primal, .*: an oracle is not exact"):
        assert not learner.done()


def test_a_tolerance_of_zero_is_never_reached():
    """Not even where rounding raises the dual above the primal."""
    learner, _ = fit(Dcd(C=0.1, tolerance=0), PROBLEMS["0/1"](), max_epochs=200)
    learner.planes.loss[:] += 1e-7
    assert -1e-6 < learner.certificate().relative_gap < 0 and not learner.done()
    learner.parameters = replace(learner.parameters, tolerance=1e-8)
    assert learner.done()


def test_a_large_rho1_leaves_no_weight():
    learner, certificate = fit(Sap(C=0.1, rho1=100.0), PROBLEMS["real"](), max_epochs=50)
    assert not learner.w.any()
    assert certificate.relative_gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("C", [0.05, 0.5])
def test_binary_squared_hinge_is_scikit_learns(C):
    """Its objective with C_sk = 2C is twice ours, and its weights are w₊ − w₋."""
    problem, X, y = single_tokens(2, seed=8)
    learner, certificate = fit(Dcd(C=C, delta=0, tolerance=1e-8), problem, max_epochs=500)
    theirs = LinearSVC(C=2 * C, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)
    w = learner.w[4:].reshape(-1, 2)
    assert not learner.w[:4].any(), "a single token has no transition"
    np.testing.assert_allclose(w[:, 1] - w[:, 0], theirs.coef_[0], atol=1e-4)
    v = theirs.coef_[0]
    squared_hinge = np.maximum(0, 1 - (2 * y - 1) * (X @ v)) ** 2
    assert v @ v / 2 + 2 * C * squared_hinge.sum() == pytest.approx(2 * certificate.primal, rel=1e-6)


@pytest.mark.parametrize("C", [0.05, 0.5])
def test_l1_loss_is_crammer_and_singers(C):
    problem, X, y = single_tokens(4, seed=9)
    learner, certificate = fit(Sap(C=C, rho1=0, rho2=1, tolerance=1e-8), problem, max_epochs=3000)
    theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
    assert not learner.w[:16].any()
    np.testing.assert_allclose(learner.w[16:].reshape(-1, 4).T, theirs.coef_, atol=1e-4)
    scores = X @ theirs.coef_.T
    margins = (scores - scores[np.arange(40), y, None] + (np.arange(4) != y[:, None])).max(axis=1)
    assert (theirs.coef_**2).sum() / 2 + C * margins.sum() == pytest.approx(certificate.primal, rel=1e-6)
