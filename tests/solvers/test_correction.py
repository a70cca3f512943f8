"""Corrections: the smallest change, in the metric of the rates, after which an example is predicted correctly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from spacy_ssvm import growth
from spacy_ssvm.solvers.correction import TOLERANCE, C, Correction
from spacy_ssvm.solvers.learner import run_epoch, start
from spacy_ssvm.solvers.planes import find_plane, plane_buffer
from spacy_ssvm.solvers.problem import Corrections, Rates
from spacy_ssvm.solvers.working_set import NO_PLANE

from ..problems import Planes, all_planes, halves, objective, optimum, random_problem

PROBLEM = random_problem(4, n_examples=20, noise=0.0, real=True)
D = PROBLEM.dimension


def rates(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.01, 1.0, D).astype(np.float32)


def single(values: np.ndarray) -> Rates:
    """A rate for each weight."""
    return Rates(values, np.zeros(0, np.float32), np.array([1]))


def told(problem, **known):
    """The problem with these facts for corrections."""
    return replace(problem, corrections=Corrections(**known))


def plane_of(problem, example: int, weights: np.ndarray, loss_scale: float) -> tuple[np.ndarray, float]:
    """ΔΦ and Δ of the decoded structure."""
    plane = plane_buffer(problem.max_plane_entries)
    size, loss = find_plane(problem.max_oracle, problem.data, example, weights, loss_scale, plane)
    dense = np.zeros(len(weights))
    dense[plane.indices[:size]] = plane.values[:size]
    return dense, loss


def mistaken(problem, weights: np.ndarray) -> list[int]:
    return [example for example in range(problem.n_examples) if plane_of(problem, example, weights, 0.0)[1] > 0]


@pytest.mark.parametrize("goal", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_an_update_is_the_smallest_that_removes_the_violation(seed, goal):
    before, metric = np.random.default_rng(seed).normal(size=D), rates(seed)
    problem = told(PROBLEM, rates=single(metric), goal=goal)
    example = mistaken(problem, before)[0]
    difference, loss = plane_of(problem, example, before, goal)
    learner = start(Correction(max_updates=1), problem, before)
    learner.visit(np.array([example]))
    optimum = minimize(
        lambda w: ((w - before) ** 2 / metric).sum() / 2,
        before,
        jac=lambda w: (w - before) / metric,
        constraints={"type": "eq", "fun": lambda w: w @ difference - goal * loss, "jac": lambda w: difference},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert optimum.success
    np.testing.assert_allclose(learner.w, optimum.x, atol=1e-5)
    assert learner.w @ difference == pytest.approx(goal * loss)


def test_what_is_predicted_correctly_changes_nothing():
    planes = all_planes(PROBLEM)
    learner = start(Correction(), PROBLEM, np.zeros(D))
    for _ in range(50):
        run_epoch(learner, np.random.default_rng(0))
    before = learner.w.copy()
    assert not mistaken(PROBLEM, before) and (planes.losses > 0).any()
    assert run_epoch(learner, np.random.default_rng(1)).loss == 0.0
    assert np.array_equal(learner.w, before)


def test_an_example_is_corrected_at_once_and_updates_are_bounded():
    before = np.random.default_rng(0).normal(size=D)
    losses = []
    for max_updates in (1, 10):
        learner = start(Correction(max_updates=max_updates), told(PROBLEM, rates=single(rates())), before)
        for example in mistaken(PROBLEM, before):
            learner.w[:] = before
            learner.visit(np.array([example]))
            losses.append((max_updates, plane_of(PROBLEM, example, learner.w, 0.0)[1]))
    assert all(loss == 0.0 for max_updates, loss in losses if max_updates == 10)
    assert any(loss > 0.0 for max_updates, loss in losses if max_updates == 1)


def test_weights_that_come_later_are_free():
    part, whole = halves()
    known = np.full(part.dimension, 1e-3, np.float32)
    learner = start(Correction(), told(part, rates=single(known)), np.zeros(part.dimension))
    learner.change(told(whole, rates=single(known)))
    learner.visit(np.arange(whole.n_examples))
    assert np.abs(learner.w[len(known) :]).max() > np.abs(learner.w[: len(known)]).max()


def test_a_rate_of_a_block_is_that_of_each_of_its_weights():
    n_single, size = 5, 4
    blocks = np.random.default_rng(0).uniform(0.01, 1.0, (D - n_single) // size - 1).astype(np.float32)
    metric = np.ones(D, np.float32)
    metric[:n_single] = 0.5
    metric[n_single : n_single + size * len(blocks)] = np.repeat(blocks, size)
    found = []
    for known in (single(metric), Rates(metric[:n_single], blocks, np.array([size]))):
        learner = start(Correction(), told(PROBLEM, rates=known), np.zeros(D))
        run_epoch(learner, np.random.default_rng(0))
        found.append(learner.w)
    assert found[0].any() and np.array_equal(*found)


def test_weights_that_come_later_begin_with_their_initial_values():
    part, whole = halves()
    before = np.random.default_rng(0).normal(size=whole.dimension)
    learner = start(Correction(), part, before[: part.dimension])
    learner.change(told(whole, initial=lambda first: before[first:]))
    assert np.array_equal(learner.w, before)


def test_few_extensions_copy_the_weights():
    """An update with one new feature takes no time that grows with the number of weights."""
    learner = start(Correction(), PROBLEM, np.ones(D))
    places = set()
    for dimension in range(D + 1, 4 * D):
        learner.change(replace(PROBLEM, dimension=dimension))
        places.add(learner.w.ctypes.data)
        assert learner.w.sum() == D
    assert len(places) < 20


def test_memory_of_replaced_weights_is_released():
    learner, before = start(Correction(), PROBLEM, np.ones(D)), len(growth._LENGTHS)
    for dimension in range(D + 1, D + 50):
        learner.change(replace(PROBLEM, dimension=dimension))
        learner.w = learner.w.copy()
    assert len(growth._LENGTHS) <= 2 + before


def new(problem, *examples: int, **known):
    """The problem in which these examples have a label that is new, by default all."""
    have_new = np.isin(np.arange(problem.n_examples), examples or np.arange(problem.n_examples))
    return told(problem, have_new_labels=have_new, **known)


def test_examples_with_new_labels_are_solved_together():
    """By the optimum of ½(w − w₀)ᵀD⁻¹(w − w₀) + C Σ ξ², which SciPy finds from all planes."""
    problem, metric = random_problem(4, n_examples=6, max_length=3, real=True), rates()
    before, root = np.random.default_rng(0).normal(size=problem.dimension), metric ** (1 / 32)
    learner = start(Correction(), new(problem, rates=single(metric)), before)
    for epoch in range(300):
        run_epoch(learner, np.random.default_rng(epoch))
    planes = all_planes(problem)
    scaled = Planes(planes.differences * root, planes.losses - planes.differences @ before, planes.examples)
    least = objective(scaled, optimum(scaled, C, 2), C, 2)
    found = objective(scaled, (learner.w - before) / root, C, 2)
    assert least - 1e-6 <= found <= (1 + TOLERANCE) * least
    assert not mistaken(problem, learner.w)


def test_examples_without_new_labels_are_corrected_as_ever():
    before, found = np.random.default_rng(0).normal(size=D), []
    wrong = mistaken(PROBLEM, before)
    for problem in (told(PROBLEM, rates=single(rates())), new(PROBLEM, wrong[0], rates=single(rates()))):
        learner = start(Correction(), problem, before)
        learner.visit(np.array(wrong[1:]))
        found.append(learner.w)
    assert np.array_equal(*found)


@pytest.mark.parametrize("forgets", ["most", "changed ones"])
def test_what_is_forgotten_leaves_the_weights_as_they_are(forgets):
    learner = start(Correction(max_remembered=4 if forgets == "most" else D), new(PROBLEM), np.zeros(D))
    learner.visit(np.arange(12))
    learner.visit(np.arange(3))
    before = learner.w.copy()
    if forgets == "most":
        remembered = np.flatnonzero(learner.planes.head != NO_PLANE).tolist()
        assert 0 < len(remembered) <= 4 and {0, 1, 2} >= set(remembered) - {*range(3, 12)}
    else:
        learner.change(learner.problem, np.arange(12))
        assert (learner.planes.head == NO_PLANE).all()
    learner.visit(np.arange(0))
    assert np.array_equal(learner.w, before)


def test_the_problem_of_new_labels_grows_and_shrinks():
    """As where a training forgets its examples."""
    part, whole = halves()
    learner = start(Correction(), new(part), np.zeros(part.dimension))
    run_epoch(learner, np.random.default_rng(0))
    learner.change(new(whole))
    run_epoch(learner, np.random.default_rng(0))
    assert len(learner.planes.head) == whole.n_examples and len(learner.w) == whole.dimension
    few = replace(new(part), dimension=whole.dimension)
    learner.change(few, np.arange(whole.n_examples), subtracts=False)
    run_epoch(learner, np.random.default_rng(0))
    assert len(learner.planes.head) == part.n_examples
