"""k-best and prediction-based MIRA: each step against SciPy's solution of its programme over enumerated planes."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from spacy_ssvm.solvers.learner import start
from spacy_ssvm.solvers.mira import Mira, PredictionMira, hildreth
from spacy_ssvm.solvers.pairs import smo

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, random_problem


def least_change(w, differences, losses, C):
    """argmin ½‖w′ − w‖² + Cξ, ξ ≥ Δ − w′ᵀΔΦ, ξ ≥ 0; with C = ∞, ξ = 0. The change is within the span of the planes."""
    base = np.linalg.svd(differences, full_matrices=False)[2]
    slack = float(np.isfinite(C))
    price = C if slack else 0.0
    rows = np.column_stack([differences @ base.T, np.full(len(losses), slack)])
    short = losses - differences @ w
    result = minimize(
        lambda x: x[:-1] @ x[:-1] / 2 + price * x[-1],
        np.append(np.zeros(len(base)), slack * short.max()),
        jac=lambda x: np.append(x[:-1], price),
        method="SLSQP",
        bounds=[(None, None)] * len(base) + [(0, None)],
        constraints={"type": "ineq", "fun": lambda x: rows @ x - short, "jac": lambda x: rows},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return w + result.x[:-1] @ base


def steps(problem, w, examples, k, loss_scale, C):
    """w after each visit."""
    planes = all_planes(problem)
    for i in examples:
        own = planes.examples == i
        differences, losses = planes.differences[own], planes.losses[own]
        scores = loss_scale * losses - differences @ w
        order = np.argsort(-scores)
        assert len(order) <= k or scores[order[k - 1]] - scores[order[k]] > 1e-7, "the k best are not unique"
        best = order[:k]
        w = least_change(w, differences[best], losses[best], C)
        yield w


PROBLEMS = {
    "chains": random_problem(2, n_examples=12, max_length=3, n_rows=8, real=True),
    "trees": tree_problem(2, n_examples=6, max_length=3),
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("k", [1, 2, 5, 40])
@pytest.mark.parametrize("C", [0.01, 0.2, 5.0, math.inf])
def test_each_step_is_the_least_change(kind, k, C):
    """40 are more structures than some examples have, and gold is always among so many."""
    problem = PROBLEMS[kind]
    w = start_at = np.random.default_rng(1).normal(size=problem.dimension)
    learner = start(Mira(C=C, k=k) if np.isfinite(C) else PredictionMira(k=k), problem, start_at)
    examples = np.random.default_rng(5).permutation(problem.n_examples)
    loss_scale = float(np.isfinite(C))
    total = np.zeros_like(w)
    for visit, (i, w) in enumerate(zip(examples, steps(problem, start_at, examples, k, loss_scale, C)), 1):
        learner.visit(np.array([i]))
        total += w
        np.testing.assert_allclose(learner.w, w, rtol=0, atol=2e-6)
        np.testing.assert_allclose(learner.prediction_weights(), total / visit, rtol=0, atol=2e-6)
    assert np.abs(w - start_at).max() > 0.01


@pytest.mark.parametrize("parameters", [Mira(k=3), PredictionMira(k=1), PredictionMira(k=3)])
def test_visiting_all_at_once_is_visiting_one_by_one(parameters):
    problem = PROBLEMS["chains"]
    examples = np.random.default_rng(5).permutation(np.repeat(np.arange(problem.n_examples), 3))
    together, apart = start(parameters, problem), start(parameters, problem)
    together.visit(examples)
    for i in examples:
        apart.visit(np.array([i]))
    assert together.prediction_weights().tobytes() == apart.prediction_weights().tobytes()
    assert (
        together.progress().loss == pytest.approx(apart.progress().loss, rel=1e-12) and together.certificate() is None
    )


VECTORS = st.lists(
    st.tuples(st.lists(st.integers(-2, 2), min_size=3, max_size=3), st.floats(-1, 3)), min_size=1, max_size=5
)


@given(VECTORS, st.sampled_from([0.01, 0.3, 4.0]))
@example([([1, 0, 0], 1.0), ([1, 0, 0], 1.0)], 4.0)  # equal planes
@example([([0, 0, 0], 1.0), ([1, 1, 0], 2.0)], 4.0)  # zero norm
def test_smo_closes_its_gap(planes, C):
    """Against no other solver: α is feasible, and C max g = Σ αg is what makes it optimal."""
    differences = np.array([[0, 0, 0], *(vector for vector, _ in planes)], float)
    linear, alpha = np.array([0.0, *(b for _, b in planes)]), np.zeros(len(planes) + 1)
    alpha[0] = C
    smo(differences @ differences.T, linear, alpha, 1e-10 * C)
    g = linear - differences @ (alpha @ differences)
    assert (alpha >= 0).all() and alpha.sum() == pytest.approx(C, rel=1e-12)
    assert C * g.max() - alpha @ g <= 2e-10 * C


@given(VECTORS)
@example([([0, 0, 0], 1.0), ([1, 1, 0], 2.0)])
@example([([1, 0, 0], 1.0), ([-1, 0, 0], 1.0)])  # no w satisfies both
def test_hildreth_satisfies_what_can_be(planes):
    """α ≥ 0, and where constraints are feasible they hold, with α = 0 for those that are slack."""
    differences, linear = np.array([vector for vector, _ in planes], float), np.array([b for _, b in planes])
    alpha = np.zeros(len(planes))
    hildreth(differences @ differences.T, linear, alpha, 1e-12)
    assert (alpha >= 0).all() and np.isfinite(alpha).all() and not alpha[~differences.any(axis=1)].any()
    feasible = differences.any(axis=1)
    if linprog(np.zeros(3), -differences[feasible], -linear[feasible], bounds=(None, None)).status == 0:
        g = (linear - differences @ (alpha @ differences))[feasible]
        np.testing.assert_allclose(np.maximum(g, -alpha[feasible]), 0, atol=1e-4)
