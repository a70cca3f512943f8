"""Exponentiated gradient: certificates by definition, the optimum against SciPy, and its distributions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.learner import start

from ..models.tree.enumeration import tree_problem
from ..problems import random_problem
from .family_reference import PROBLEMS, family_of, problem_of
from .running import epochs
from .test_lbfgs import MEMBERS

ROUNDING = 1e-6


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_dual_point_by_enumeration(kind, member):
    """With P_i(·; w) for scores, γ E[Δ] + H / β and what is added to w are those of the enumerated structures."""
    (beta, gamma), C, problem, known = member, 0.01, problem_of(kind), family_of(kind, *member)
    w = np.random.default_rng(0).normal(size=problem.dimension) / 4
    for example in range(problem.n_examples):
        learner = start(ExponentiatedGradient(C=C, beta=beta, gamma=gamma), problem, w)
        learner.visit(np.array([example]))
        one = known._replace(differences=[known.differences[example]], losses=[known.losses[example]])
        expected = w - one.primal(w, C)[1]
        np.testing.assert_allclose(learner.w, w + expected, rtol=0, atol=1e-7)
        value = (one.dual(w, C) + expected @ expected / 2) / C
        assert learner.distributions.values[example] == pytest.approx(value, rel=1e-6, abs=1e-6)
        assert learner.loss == pytest.approx(one.loss(0, w)[0], rel=1e-6, abs=1e-6)


def test_scores_of_any_size():
    """Losses of a million, and weights to start from that no probability survives."""
    problem = random_problem(3)
    scaled = chain_problem(problem.data._replace(costs=1e6 * problem.data.costs), 12)
    learner = epochs(start(ExponentiatedGradient(C=1e-3), scaled), 30)
    assert learner.certificate().dual > 0 and abs(learner.certificate().relative_gap) < ROUNDING
    far = 1e3 * np.random.default_rng(0).normal(size=problem.dimension)
    learner = epochs(start(ExponentiatedGradient(C=1.0), problem, far), 30)
    certificate = learner.certificate()
    assert np.isfinite(certificate).all() and certificate.gap >= 0


def summed(learner):
    """What the surpluses add up to, moved from zero in one go."""
    other = start(learner.parameters, learner.problem)
    other.distributions = learner.distributions._replace(
        surplus=-learner.distributions.surplus,
        values=learner.distributions.values.copy(),
        rates=learner.distributions.rates.copy(),
    )
    other.change(other.problem, np.arange(learner.problem.n_examples))
    return other.w


@pytest.mark.parametrize("make", [random_problem, tree_problem])
def test_removed_examples_leave_nothing_in_w(make):
    problem = make(4)
    learner = epochs(start(ExponentiatedGradient(C=0.5), problem), 4)
    np.testing.assert_allclose(learner.w, summed(learner), rtol=0, atol=1e-12)
    learner.change(learner.problem, np.array([3, 1]))
    np.testing.assert_allclose(learner.w, summed(learner), rtol=0, atol=1e-12)
    assert learner.certificate().gap > 0
    assert abs(epochs(learner, 60).certificate().relative_gap) < 1e-3, "learning goes on"
    learner.change(learner.problem, np.arange(problem.n_examples))
    np.testing.assert_allclose(learner.w, 0, atol=1e-12)
    assert learner.progress().dual == pytest.approx(0, abs=1e-9)


def test_a_warm_start_keeps_w_near():
    """½‖w − w₀‖² is the regulariser: the optimum by SciPy."""
    problem, known, C = problem_of("indicators"), family_of("indicators", 1.0, 0.0), 0.5
    w0 = np.random.default_rng(0).normal(size=problem.dimension)
    learner = start(ExponentiatedGradient(C=C, gamma=0, tolerance=1e-6), problem, w0)
    assert learner.certificate().dual == 0
    certificate = epochs(learner, 60).certificate()

    def primal(w):
        value, gradient = known.primal(w, C)
        return value - w @ w / 2 + (w - w0) @ (w - w0) / 2, gradient - w0

    theirs = minimize(primal, w0, jac=True, method="BFGS", tol=1e-6)
    assert certificate.primal == pytest.approx(theirs.fun, rel=1e-5) == certificate.dual


def test_a_state_that_does_not_fit_its_examples():
    """What is not of this problem is refused; cliques of another number than an example has are forgotten."""
    problem = random_problem(10)
    learner = epochs(start(ExponentiatedGradient(), problem), 2)
    state = learner.state()
    for name, wrong in (("starts", -1), ("rates", 2.0), ("rates", -1.0)):
        damaged = state["distributions"][name].copy()
        damaged[3] = wrong
        with pytest.raises(ValueError, match="its distributions are not those of these examples"):
            start(ExponentiatedGradient(), problem).restore(
                {**state, "distributions": {**state["distributions"], name: damaged}}, None
            )
    moved = state["distributions"]["starts"].copy()
    moved[4] -= 1
    other = start(ExponentiatedGradient(), problem)
    other.restore({**state, "distributions": {**state["distributions"], "starts": moved}}, None)
    w = other.w.copy()
    other._fit(np.arange(problem.n_examples))
    assert other.has_forgotten and other.w.tobytes() == w.tobytes()
    assert np.isfinite(epochs(other, 2).w).all() and other.certificate() is None


@pytest.mark.parametrize("C", [1e-4, 100.0])
@pytest.mark.parametrize("known_part", ["all", "some", "nothing"])
def test_any_C_moves_every_example(C, known_part):
    """Also where wrong labels cost nothing, because gold is unknown."""
    problem = random_problem(8)
    costs = (
        problem.data.costs * {"all": 1.0, "some": np.arange(len(problem.data.costs)) % 2, "nothing": 0.0}[known_part]
    )
    problem = chain_problem(problem.data._replace(costs=np.ascontiguousarray(costs)), 12)
    learner = epochs(start(ExponentiatedGradient(C=C), problem), 1)
    first = learner.certificate().gap
    assert (learner.distributions.rates > 0).all()
    assert epochs(learner, 60).certificate().gap < 0.2 * first
