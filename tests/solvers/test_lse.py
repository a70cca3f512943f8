"""The LSE-SSVM's two solvers against the optimum over all enumerated planes."""

from functools import cache

import numpy as np
import pytest

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.learner import fit, start
from spacy_ssvm.solvers.lse import LseCuttingPlane, LseSdcd

from ..models.tree.enumeration import tree_problem
from ..problems import (
    all_planes,
    multiclass_problem,
    random_problem,
    summed_errors,
    summed_errors_optimum,
    without_features,
)
from .running import planes_of

BOTH = [LseSdcd, LseCuttingPlane]


def classes(seed=0, n=40, n_features=5, n_classes=4):
    """Classes by a random linear rule, a third of them wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).astype(np.float32)
    gold = (x @ rng.normal(size=(n_features, n_classes))).argmax(axis=1)
    gold[: n // 3] = rng.integers(0, n_classes, n // 3)
    starts = np.arange(0, x.size + 1, n_features)
    return multiclass_problem(starts, np.tile(np.arange(n_features), n), x.ravel(), gold, n_classes, n_features)


PROBLEMS = {
    "chains": lambda: random_problem(0, n_examples=5, max_length=3, n_rows=4, active=2),
    "chains, real values": lambda: random_problem(2, n_examples=5, max_length=3, n_rows=4, active=2, real=True),
    "equal words": lambda: random_problem(4, n_examples=6, n_labels=2, max_length=5, n_rows=1, active=1),
    "trees": lambda: tree_problem(0, n_examples=4, max_length=3),
    "classes": classes,
    "no features, so that every ΔΦ vanishes": lambda: without_features(n_labels=3),
}


@cache
def solved(kind, C):
    """A problem, its planes, and the least value of its objective."""
    problem = PROBLEMS[kind]()
    planes = all_planes(problem)
    return problem, planes, summed_errors(planes, summed_errors_optimum(planes, C), C)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("C", [0.005, 0.05, 0.5])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_enumerated_optimum(kind, C, make):
    problem, planes, least = solved(kind, C)
    learner, certificate = fit(make(C=C, tolerance=1e-6), problem, max_epochs=300)
    assert learner.done() and certificate is None
    assert summed_errors(planes, learner.w, C) == pytest.approx(least, rel=1e-5)
    figures = learner.progress()
    assert figures.dual == pytest.approx(least, rel=1e-5) and figures.primal is None
    assert learner.progress().outside <= 1e-6


def test_some_structures_share_a_plane():
    """Or nothing here would prove that each of them counts."""
    planes = solved("equal words", 0.05)[1]
    rows = np.column_stack([planes.examples, planes.losses, planes.differences])
    assert len(np.unique(rows, axis=0)) < len(rows)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    ("kind", "C", "excess"), [("chains", 0.05, 0.08), ("trees", 0.05, 0.5), ("classes", 0.5, 0.01)]
)
def test_the_printed_oracle_stops_short(kind, C, excess, make):
    """It is done, as far as it knows, at an objective that is higher by this share."""
    problem, planes, least = solved(kind, C)
    learner, _ = fit(make(C=C, tolerance=1e-6, oracle="printed"), problem, max_epochs=500)
    assert learner.done() and learner.progress().outside is None
    assert summed_errors(planes, learner.w, C) > (1 + excess) * least
    assert learner.progress().dual < (1 - 2e-3) * least


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("oracle", ["outside", "printed"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_epoch(kind, oracle, make):
    """The dual never falls and stays below the optimum, α is in its box, w = Σ α ΔΦ, and V_i holds no gold plane."""
    C = 0.05
    problem, _, least = solved(kind, C)
    learner, rng, dual = start(make(C=C, oracle=oracle, kappa1=3), problem), np.random.default_rng(0), 0.0
    for epoch in range(12):
        before, known = learner.w.copy(), working_set.count(learner.planes)
        learner.begin_epoch(rng)
        if epoch < 3:
            np.testing.assert_array_equal(learner.w, before)
        learner.visit(rng.permutation(problem.n_examples))
        learner.end_epoch()
        figures = learner.progress()
        assert dual * (1 - 1e-12) <= figures.dual <= least * (1 + 1e-7)
        dual = figures.dual
        assert known <= figures.planes <= known + problem.n_examples
        if oracle == "outside":
            assert (figures.planes > known) == (figures.outside > 0)
        summed = np.zeros_like(learner.w)
        for i in range(problem.n_examples):
            for alpha, loss, indices, values in planes_of(learner.planes, i):
                assert 0 <= alpha <= C * (1 + 1e-12) and (loss > 0 or len(indices))
                summed[indices] += alpha * values
        np.testing.assert_allclose(learner.w, summed, rtol=0, atol=1e-12)
        assert figures.dual == pytest.approx(dual_of(learner), rel=1e-12)


def dual_of(learner):
    alphas = [plane[:2] for i in range(learner.problem.n_examples) for plane in planes_of(learner.planes, i)]
    return sum(alpha * loss for alpha, loss in alphas) - learner.w @ learner.w / 2


@pytest.mark.parametrize("make", BOTH)
def test_the_loss_is_that_of_the_best_structure(make):
    """Σ ξ_i, at w = 0 the length of every sequence."""
    problem = PROBLEMS["chains"]()
    learner = start(make(), problem)
    learner.begin_epoch(np.random.default_rng(0))
    learner.visit(np.array([2]))
    assert learner.progress().loss == learner.progress().outside == np.diff(problem.data.starts)[2]


@pytest.mark.parametrize("make", BOTH)
def test_two_loops(make, monkeypatch):
    """After κ₁ epochs one pass in κ₂ calls the oracles."""
    learner, passes = start(make(kappa1=2, kappa2=4), PROBLEMS["chains"]()), []
    inner = type(learner)._inner_pass
    monkeypatch.setattr(type(learner), "_inner_pass", lambda *args: (passes.append(1), inner(*args)))
    for expected in (0, 0, 3, 6):
        learner.begin_epoch(np.random.default_rng(0))
        assert len(passes) == expected
        learner.visit(np.arange(5))
        learner.end_epoch()
