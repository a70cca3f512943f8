"""The baselines of sparse models against the linear programmes that they solve, and the projection on the L1 ball."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.l1 import Extragradient, ProjectedSubgradient, project_onto_ball
from spacy_ssvm.solvers.learner import start

from ..problems import all_planes, halves, random_problem, slacks_of
from .reference import Enumerated
from .running import epochs, planes_of

BOTH = [ProjectedSubgradient(epsilon=3.0), Extragradient(C=0.5)]
both = pytest.mark.parametrize("parameters", BOTH, ids=lambda parameters: type(parameters).__name__)

PROBLEMS = {
    "0/1": random_problem(0, n_examples=5, max_length=2, n_rows=4, active=2),
    "real": random_problem(1, n_examples=5, max_length=2, n_rows=4, active=2, real=True),
    "longer": random_problem(2, n_examples=12, max_length=3, n_rows=4, active=2),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def tiny(request):
    return PROBLEMS[request.param], all_planes(PROBLEMS[request.param])


def programme(planes, norm_cost, slack_cost, radius=None):
    """min norm_cost ‖w‖₁ + slack_cost Σ ξ, where ‖w‖₁ ≤ radius if that is given: w and the optimal value."""
    n, d = planes.examples.max() + 1, planes.differences.shape[1]
    matrix = -np.hstack([planes.differences, -planes.differences, np.eye(n)[planes.examples]])
    bounds = -planes.losses
    if radius is not None:
        matrix = np.vstack([matrix, np.concatenate([np.ones(2 * d), np.zeros(n)])])
        bounds = np.append(bounds, radius)
    costs = np.concatenate([np.full(2 * d, norm_cost), np.full(n, slack_cost)])
    result = linprog(costs, matrix, bounds)
    return result.x[:d] - result.x[d : 2 * d], result.fun


@given(st.lists(st.floats(-5, 5).map(lambda x: round(x, 3) + 0.0), min_size=1, max_size=6), st.floats(0.05, 12))
def test_projection(point, radius):
    """Against a quadratic programme over w = u − v."""
    x, d = np.array(point), len(point)
    result = minimize(
        lambda z: ((z[:d] - z[d:] - x) ** 2).sum() / 2,
        np.zeros(2 * d),
        jac=lambda z: np.concatenate([z[:d] - z[d:] - x, x - z[:d] + z[d:]]),
        method="SLSQP",
        bounds=[(0, None)] * (2 * d),
        constraints={"type": "ineq", "fun": lambda z: radius - z.sum(), "jac": lambda z: -np.ones(2 * d)},
        options={"ftol": 1e-14, "maxiter": 300},
    )
    found = project_onto_ball(x, radius)
    np.testing.assert_allclose(found, result.x[:d] - result.x[d:], atol=1e-5)
    assert np.abs(found).sum() <= radius * (1 + 1e-12)
    np.testing.assert_array_equal(project_onto_ball(found, radius), found, err_msg="once is enough")
    assert not np.signbit(found[found == 0]).any(), "zeros are stored as such"


def test_projected_subgradient_step_for_step():
    problem = random_problem(2, max_length=4, n_rows=8, real=True)
    planes, w = Enumerated(problem), np.zeros(problem.dimension)
    learner, rng = start(ProjectedSubgradient(epsilon=2.0, eta0=0.1), problem), np.random.default_rng(3)
    for epoch in range(1, 6):
        examples, suffered = rng.permutation(problem.n_examples), 0.0
        learner.begin_epoch(rng)
        learner.visit(examples[:10])
        learner.visit(examples[10:])
        for example in examples:
            difference, loss = planes.oracle(example, w, 1.0)
            suffered += max(0.0, loss - w @ difference)
            w = w + 0.1 / np.sqrt(epoch) * difference
        np.testing.assert_allclose(learner.w, w, rtol=0, atol=1e-9)
        assert np.abs(w).sum() > 2.0
        w = project_onto_ball(w, 2.0)
        np.testing.assert_allclose(learner.prediction_weights(), w, rtol=0, atol=1e-9, err_msg="before the epoch ends")
        learner.end_epoch()
        np.testing.assert_allclose(learner.prediction_weights(), w, rtol=0, atol=1e-9)
        assert learner.progress().loss == pytest.approx(suffered)


@pytest.mark.parametrize("C", [0.1, 0.5, 2.0])
def test_extragradient_solves_the_linear_programme(tiny, C):
    """To rounding, as the method converges linearly on such; α solves the dual: ‖Σ α ΔΦ‖_∞ ≤ 1, Σ αΔ = the optimum."""
    problem, planes = tiny
    _, value = programme(planes, 1, C)
    learner = epochs(start(Extragradient(C=C), problem), 60)
    w = learner.prediction_weights()
    assert np.abs(w).sum() + C * slacks_of(planes, w).sum() == pytest.approx(value, rel=1e-6)
    s = np.zeros_like(w)
    working_set.weighted_sum(learner.planes, s)
    assert np.abs(s).max() <= 1 + 1e-5
    assert working_set.dual_sums(learner.planes)[0] == pytest.approx(value, rel=1e-5)
    for example in range(problem.n_examples):
        assert 0 <= sum(alpha for alpha, *_ in planes_of(learner.planes, example)) <= C * (1 + 1e-12)
    # The estimate of the last epoch is of a w that moves no more.
    assert learner.progress().primal == pytest.approx(value, rel=1e-6)


def test_the_primal_of_an_extragradient_epoch_is_that_of_the_oracles_w():
    """It is never below the optimum."""
    problem = random_problem(1, n_examples=20, n_rows=8)
    planes, learner = all_planes(problem), start(Extragradient(C=0.3), problem)
    for epoch in range(9):
        w = learner.w.copy()
        epochs(learner, 1, epoch)
        expected = np.abs(w).sum() + 0.3 * slacks_of(planes, w).sum()
        assert learner.progress().primal == pytest.approx(expected, rel=1e-9)


@both
def test_the_optimum_is_reached_after_examples_and_features_were_added(parameters):
    part, whole = halves()
    learner = epochs(start(parameters, part), 3)
    learner.change(whole)
    w, planes = epochs(learner, 60).prediction_weights(), all_planes(whole)
    if isinstance(parameters, Extragradient):
        value = np.abs(w).sum() + 0.5 * slacks_of(planes, w).sum()
        assert value == pytest.approx(programme(planes, 1, 0.5)[1], rel=1e-4)
    else:
        assert slacks_of(planes, w).sum() <= 1.05 * programme(planes, 0, 1, 3.0)[1]
