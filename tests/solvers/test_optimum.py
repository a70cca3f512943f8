"""The optimum that each dual solver reaches, against SciPy on enumerated planes and against scikit-learn."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from spacy_ssvm.models.chain.problem import multiclass_problem
from spacy_ssvm.solvers.fit import fit
from spacy_ssvm.solvers.parameters import Dcd, Sap, dcd_light

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, objective, optimum, random_problem


@pytest.fixture(scope="module", params=[(0, False), (1, False), (2, True)], ids=["0/1", "0/1 again", "real"])
def tiny(request):
    seed, real = request.param
    problem = random_problem(seed, n_examples=5, max_length=2, n_rows=4, active=2, real=real)
    return problem, all_planes(problem)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("inner_passes", [0, 5])
def test_dcd_solves_the_enumerated_programme(tiny, C, inner_passes):
    problem, planes = tiny
    expected = optimum(planes, C, 2)
    learner, certificate = fit(Dcd(C=C, inner_passes=inner_passes, delta=0, tolerance=1e-9), problem, max_epochs=500)
    assert certificate.primal == pytest.approx(objective(planes, expected, C, power=2), rel=1e-7)
    np.testing.assert_allclose(learner.w, expected, atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize(("rho1", "rho2"), [(0.0, 1.0), (0.1, 0.5), (0.3, 1.0)])
def test_sap_solves_the_enumerated_programme(tiny, C, rho1, rho2):
    """With ρ₁ > 0 there are exact zeros, and they are the optimum's."""
    problem, planes = tiny
    expected = optimum(planes, C, 1, rho1, rho2)
    learner, certificate = fit(Sap(C=C, rho1=rho1, rho2=rho2, tolerance=1e-9), problem, max_epochs=500)
    assert certificate.primal == pytest.approx(objective(planes, expected, C, 1, rho1, rho2), rel=1e-7)
    np.testing.assert_allclose(learner.w, expected, atol=1e-4)
    if rho1 > 0:
        assert (learner.w == 0).any()
        np.testing.assert_array_equal(np.abs(learner.w) > 1e-4, np.abs(expected) > 1e-4)


def test_a_large_rho1_leaves_no_weight(tiny):
    problem, _ = tiny
    learner, certificate = fit(Sap(C=0.1, rho1=100.0), problem, max_epochs=50)
    assert not learner.w.any()
    assert certificate.relative_gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("C", [0.01, 0.05])
@pytest.mark.parametrize("make", [random_problem, tree_problem])
def test_dcd_light_and_dcd_ssvm_agree(make, C):
    problem = make(7)
    _, light = fit(dcd_light(C=C, delta=0, tolerance=5e-5), problem, max_epochs=3000)
    _, full = fit(Dcd(C=C, delta=0, tolerance=5e-5), problem, max_epochs=3000)
    assert light.primal == pytest.approx(full.primal, rel=1e-4)


def single_tokens(n_labels, seed):
    """A multi-class problem, chains of length one, and what scikit-learn sees of them: X [n, R] and y [n]."""
    problem = random_problem(seed, n_examples=40, n_labels=n_labels, max_length=1, n_rows=6, real=True)
    chains = problem.data
    X = np.zeros((problem.n_examples, 6))
    X[np.repeat(np.arange(40), 3), chains.rows] = chains.values
    starts = np.arange(0, 121, 3)
    return multiclass_problem(starts, chains.rows, chains.values, chains.gold, n_labels, 6), X, chains.gold


@pytest.mark.parametrize("C", [0.05, 0.5])
def test_binary_squared_hinge_is_scikit_learns(C):
    """Its objective with C_sk = 2C is twice ours, and its weights are w₊ − w₋."""
    problem, X, y = single_tokens(2, seed=8)
    learner, certificate = fit(Dcd(C=C, delta=0, tolerance=1e-9), problem, max_epochs=500)
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
    learner, certificate = fit(Sap(C=C, rho1=0, rho2=1, tolerance=1e-9), problem, max_epochs=3000)
    theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
    assert not learner.w[:16].any()
    np.testing.assert_allclose(learner.w[16:].reshape(-1, 4).T, theirs.coef_, atol=1e-4)
    scores = X @ theirs.coef_.T
    margins = (scores - scores[np.arange(40), y, None] + (np.arange(4) != y[:, None])).max(axis=1)
    assert (theirs.coef_**2).sum() / 2 + C * margins.sum() == pytest.approx(certificate.primal, rel=1e-6)
