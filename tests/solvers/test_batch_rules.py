"""What makes each of CPD, 1-slack, Frank–Wolfe and SDM itself: its steps, its rounds, its parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.solvers.dcd import Cpd
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.learner import fit, run_epoch, start
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.pairs import pair_step
from spacy_ssvm.solvers.sdm import Sdm
from spacy_ssvm.structures.tree.parts import SPANNING_GRANDPARENTS

from ..models.tree.enumeration import tree_problem
from ..problems import random_problem
from .reference import Enumerated
from .running import epochs


def frank_wolfe(planes, visits, C):
    """w and its weighted mean after each visit, as the algorithm is printed: dense (w_i, ℓ_i) of each example."""
    parts, losses = np.zeros((planes.n, planes.d)), np.zeros(planes.n)
    mean = np.zeros(planes.d)
    for k, i in enumerate(visits):
        w = parts.sum(axis=0)
        difference, cost = planes.oracle(i, w, 1.0)
        w_s, loss_s = C * difference, C * cost
        numerator = (parts[i] - w_s) @ w - losses[i] + loss_s
        norm = ((parts[i] - w_s) ** 2).sum()
        gamma = float(numerator > 0) if norm == 0 else np.clip(numerator / norm, 0, 1)
        parts[i] = (1 - gamma) * parts[i] + gamma * w_s
        losses[i] = (1 - gamma) * losses[i] + gamma * loss_s
        mean = k / (k + 2) * mean + 2 / (k + 2) * parts.sum(axis=0)
        yield parts.sum(axis=0), mean, losses.sum()


@pytest.mark.parametrize("real", [False, True])
def test_frank_wolfe_step_for_step(real):
    """In visits of several sizes; ties of integral scores at w = 0 are broken as the decoder breaks them."""
    problem = random_problem(12, n_examples=8, max_length=3, real=real)
    visits = np.random.default_rng(0).integers(0, 8, 60)
    plain, averaged = start(FrankWolfe(C=0.3), problem), start(FrankWolfe(C=0.3, averaging=True), problem)
    steps = list(frank_wolfe(Enumerated(problem), visits, 0.3))
    for first, end in [(0, 1), (1, 5), (5, 30), (30, 60)]:
        plain.visit(visits[first:end])
        averaged.visit(visits[first:end])
        w, mean, loss = steps[end - 1]
        np.testing.assert_allclose(plain.prediction_weights(), w, rtol=0, atol=1e-6)
        np.testing.assert_allclose(averaged.prediction_weights(), mean, rtol=0, atol=1e-6)
        assert plain.progress().dual == pytest.approx(loss - w @ w / 2, abs=1e-6)


def test_the_certificate_of_an_average_is_the_averages():
    problem = random_problem(12, n_examples=8, max_length=3)
    learner = start(FrankWolfe(C=0.3, averaging=True), problem)
    visits = np.tile(np.arange(8), 10)
    learner.visit(visits)
    planes = Enumerated(problem)
    duals = [loss for *_, loss in frank_wolfe(planes, visits, 0.3)]
    mean = learner.prediction_weights()
    linear = np.average(duals, weights=np.arange(1, 81))
    certificate = learner.certificate()
    assert certificate.dual == pytest.approx(linear - mean @ mean / 2, rel=1e-6)
    assert certificate.primal == pytest.approx(planes.primal(mean, 0.3, np.arange(8)), rel=1e-9)


@pytest.mark.parametrize("parameters", [Cpd(C=0.1), OneSlack(C=0.1)])
def test_w_rests_during_an_epoch(parameters):
    problem = random_problem(6)
    learner = epochs(start(parameters, problem), 3)
    w = learner.w.copy()
    learner.begin_epoch(np.random.default_rng(0))
    for part in np.array_split(np.arange(problem.n_examples), 4):
        learner.visit(part)
        assert learner.w.tobytes() == w.tobytes()
    exact = learner.certificate()
    assert learner.progress().primal == pytest.approx(exact.primal, rel=1e-12)
    learner.end_epoch()
    assert learner.w.tobytes() != w.tobytes()
    assert learner.progress().primal == pytest.approx(exact.primal, rel=1e-12)
    assert learner.progress().dual > exact.dual


@pytest.mark.parametrize("parameters", [Cpd(C=0.1, delta=0), OneSlack(C=0.1)])
def test_a_solved_problem_is_left_alone(parameters):
    learner, certificate = fit(parameters, random_problem(6), max_epochs=1000)
    assert certificate.relative_gap <= parameters.tolerance
    w = learner.w.tobytes()
    assert epochs(learner, 1).w.tobytes() == w


@pytest.mark.parametrize("parameters", [Cpd(C=0.01), OneSlack(C=0.01)])
def test_without_exact_oracles_learning_goes_on(parameters):
    """There is no certificate that could end it, so that w must not rest at an estimated gap."""
    learner = epochs(start(parameters, tree_problem(4, structure=SPANNING_GRANDPARENTS, n_examples=12)), 12)
    w = learner.w.tobytes()
    assert not learner.done() and epochs(learner, 5).w.tobytes() != w


def test_frank_wolfe_keeps_w_and_its_rounded_means_together():
    learner, _ = fit(FrankWolfe(C=0.5, tolerance=0), random_problem(3, n_examples=50, real=True), 300)
    np.testing.assert_allclose(learner.w, learner.summed(), rtol=0, atol=1e-11)


def test_one_slack_has_one_plane_an_epoch_and_drops_the_idle():
    problem = random_problem(6)
    learner = start(OneSlack(C=0.1, tolerance=0, idle_epochs=1000), problem)
    assert [epochs(learner, 1, seed).progress().planes for seed in range(20)] == [*range(1, 21)]
    strict = epochs(start(OneSlack(C=0.1, tolerance=0, idle_epochs=0), problem), 20)
    assert (strict.alpha[1:] > 0).all()
    assert len(strict.alpha) < len(learner.alpha)
    products = [
        [dense(strict, p) @ dense(strict, q) for q in range(len(strict.alpha))] for p in range(len(strict.alpha))
    ]
    np.testing.assert_allclose(strict.gram, products, rtol=1e-12)


def dense(learner, k):
    plane = np.zeros_like(learner.w)
    plane[learner.indices[k]] = learner.values[k]
    return plane


def test_an_epoch_that_misses_examples_gives_a_valid_plane():
    """Gold stands in for what was not found, so that the dual stays below every primal."""
    problem = random_problem(6)
    learner, rng = start(OneSlack(C=0.1), problem), np.random.default_rng(0)
    _, whole = fit(OneSlack(C=0.1, tolerance=1e-6), problem, max_epochs=1000)
    for _ in range(30):
        run_epoch(learner, rng, rng.permutation(problem.n_examples)[:10])
        assert 0 < learner.certificate().dual <= whole.primal
    epochs(learner, 200)
    assert learner.certificate().relative_gap <= 1e-3


@pytest.mark.parametrize("parameters", [Cpd(C=1.0), OneSlack(C=1.0)])
def test_an_example_counts_once_an_epoch(parameters):
    """A 1-slack plane holds one structure of each example at most: otherwise it is no lower bound of Σ ξ."""
    problem = random_problem(1, n_examples=20, n_rows=8)
    once, repeated = start(parameters, problem), start(parameters, problem)
    rngs = np.random.default_rng(0), np.random.default_rng(0)
    order = np.arange(20)
    for _ in range(10):
        figures = run_epoch(once, rngs[0], order)
        repeated.begin_epoch(rngs[1])
        for part in (order[:5], order[[3, 5, 5, 6]], order, order):
            repeated.visit(part)
        repeated.end_epoch()
        assert repeated.progress() == figures and repeated.w.tobytes() == once.w.tobytes()


@pytest.mark.parametrize("parameters", [Cpd(C=1.0), OneSlack(C=1.0)])
def test_a_stream_learns_from_each_batch_of_an_epoch(parameters):
    """Each batch takes the place of the one before, in an epoch that has begun once."""
    learner = start(parameters, random_problem(1, n_examples=20, n_rows=8))
    learner.begin_epoch(np.random.default_rng(0))
    learner.visit(np.arange(20))
    for seed in range(2, 5):
        learner.change(learner.problem, np.arange(20), subtracts=False)
        learner.change(random_problem(seed, n_examples=20, n_rows=8))
        w = learner.w.tobytes()
        learner.visit(np.arange(20))
        learner.end_epoch()
        assert learner.w.tobytes() != w


def test_one_slack_cannot_take_out_one_example():
    """Its planes are sums: all go, w stays, and learning goes on from there; examples not seen yet change nothing."""
    learner = start(OneSlack(C=0.5), random_problem(10))
    learner.begin_epoch(np.random.default_rng(0))
    learner.visit(np.arange(20))
    learner.change(learner.problem, np.arange(20, 30))
    learner.change(learner.problem, np.zeros(0, np.int64))
    learner.end_epoch()
    assert learner.progress().planes == 1 and learner.certificate() is not None
    w = learner.w.tobytes()
    learner.change(learner.problem, np.array([3]))
    assert learner.progress().planes == 0 and learner.w.tobytes() == w
    assert learner.certificate() is None
    epochs(learner, 3)
    assert learner.progress().planes == 3 and learner.w.tobytes() != w


def test_sdm_has_inner_passes_only_after_its_first_epochs():
    problem = random_problem(10)
    learner, moved = start(Sdm(C=0.5, kappa1=2, kappa2=3), problem), []
    for seed in range(5):
        before = learner.w.copy()
        learner.begin_epoch(np.random.default_rng(seed))
        moved.append(learner.w.tobytes() != before.tobytes())
        learner.visit(np.arange(problem.n_examples))
    assert moved == [False, False, True, True, True]
    never = epochs(start(Sdm(C=0.5, kappa1=2, kappa2=1), problem), 5)
    oracles_only = epochs(start(Sdm(C=0.5, kappa1=99), problem), 5)
    assert never.w.tobytes() == oracles_only.w.tobytes()


@given(st.floats(-2, 2), st.floats(0, 3), st.sampled_from([0.0, 1e-3, 0.7, 5.0]))
def test_a_pair_step_is_the_best_there_is(rise, limit, curvature):
    step = pair_step(rise, limit, curvature)
    others = np.linspace(0, limit, 101)
    assert 0 <= step <= limit
    assert (rise * step - curvature * step**2 / 2 >= rise * others - curvature * others**2 / 2 - 1e-12).all()
