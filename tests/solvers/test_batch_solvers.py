"""CPD, 1-slack, Frank–Wolfe and SDM: their optimum by enumeration, their certificates, examples that come and go."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from spacy_ssvm.models.chain.problem import chain_problem
from spacy_ssvm.solvers import dual_variables, working_set
from spacy_ssvm.solvers.fit import fit, start
from spacy_ssvm.solvers.parameters import Cpd, FrankWolfe, OneSlack, Sdm
from spacy_ssvm.structures.tree.parts import LOOPY

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, objective, optimum, random_problem
from .running import epochs
from .test_learner import halves


class Solver(NamedTuple):
    """power: of the slacks. rounding: of relative gaps and duals; means of planes are in single precision."""

    make: type
    power: int
    rounding: float = 1e-12
    settings: dict = {}

    def __call__(self, C, **more):
        return self.make(C=C, **self.settings, **more)


SOLVERS = {
    "CPD": Solver(Cpd, 2, settings={"delta": 0}),
    "1-slack": Solver(OneSlack, 1),
    "1-slack, no idle planes": Solver(OneSlack, 1, settings={"idle_epochs": 0}),
    "FW": Solver(FrankWolfe, 1, 1e-6),
    "FW, averaged": Solver(FrankWolfe, 1, 1e-6, {"averaging": True}),
    "SDM": Solver(Sdm, 1, settings={"kappa1": 3}),
}
WITH_WORKING_SETS = [name for name in SOLVERS if "1-slack" not in name]

PROBLEMS = {
    "indicators": lambda: random_problem(0, n_examples=5, max_length=2, n_rows=4, active=2),
    "real values": lambda: random_problem(2, n_examples=5, max_length=2, n_rows=4, active=2, real=True),
    "projective trees": lambda: tree_problem(4, n_examples=3, max_length=2, n_labels=2),
}


@cache
def with_optimum(kind, C, power):
    """A problem, its planes, and the optimal objective: w is sought in the span of the planes."""
    problem = PROBLEMS[kind]()
    planes = all_planes(problem)
    _, scales, axes = np.linalg.svd(planes.differences, full_matrices=False)
    spanned = replace(planes, differences=planes.differences @ axes[scales > 1e-9].T)
    return problem, planes, objective(spanned, optimum(spanned, C, power), C, power)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("C", [0.05, 0.3])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_enumerated_optimum(name, C, kind):
    """To 1e-6, but Frank–Wolfe, which converges sublinearly, to 1e-4."""
    solver = SOLVERS[name]
    problem, planes, expected = with_optimum(kind, C, solver.power)
    tolerance = 1e-4 if solver.make is FrankWolfe else 1e-6
    learner, certificate = fit(solver(C, tolerance=tolerance), problem, max_epochs=5000)
    assert certificate.relative_gap <= tolerance
    assert certificate.primal == pytest.approx(expected, rel=tolerance)
    assert certificate.dual == pytest.approx(expected, rel=tolerance)
    w = learner.prediction_weights()
    assert objective(planes, w, C, solver.power) == pytest.approx(certificate.primal, rel=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("C", [0.05, 0.5])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_epoch(name, C, kind):
    """The dual never decreases, the gap is never negative, and the primal is what enumeration says."""
    solver = SOLVERS[name]
    problem = PROBLEMS[kind]()
    planes = all_planes(problem)
    rounding = max(solver.rounding, 1e-6 if kind == "real values" else 0)
    learner, dual = start(solver(C), problem), 0.0
    for seed in range(15):
        epochs(learner, 1, seed)
        certificate = learner.certificate()
        figures = learner.progress()
        assert figures.dual == pytest.approx(certificate.dual, rel=max(rounding, 1e-9))
        by_enumeration = objective(planes, learner.prediction_weights(), C, solver.power)
        assert certificate.primal == pytest.approx(by_enumeration, rel=max(rounding, 1e-9))
        assert certificate.gap >= -rounding * certificate.primal
        if name != "FW, averaged":
            assert certificate.dual >= dual - rounding * abs(dual)
        dual = certificate.dual


@pytest.mark.parametrize("name", SOLVERS)
def test_fit_stops_at_its_tolerance(name):
    solver, problem = SOLVERS[name], random_problem(5)
    learner, certificate = fit(solver(0.05, tolerance=1e-3), problem, max_epochs=2000)
    assert -solver.rounding <= certificate.relative_gap <= 1e-3
    _, again = fit(solver(0.05, tolerance=1e-3), problem, max_epochs=4000)
    assert again == certificate, "more epochs were allowed, none was used"
    assert learner.progress().planes > 0


@pytest.mark.parametrize("name", WITH_WORKING_SETS)
def test_epochs_that_miss_examples_come_to_the_optimum_too(name):
    problem = random_problem(10)
    learner, rng = start(SOLVERS[name](0.5), problem), np.random.default_rng(0)
    for _ in range(2500):
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(problem.n_examples)[:20])
        learner.end_epoch()
        if learner.done():
            break
    assert learner.certificate().relative_gap <= 1e-3


@pytest.mark.parametrize("name", SOLVERS)
def test_decoding_that_is_not_exact_gives_no_certificate(name):
    learner, certificate = fit(SOLVERS[name](0.1), tree_problem(4, structure=LOOPY), 30)
    assert certificate is None and not learner.done()


@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_to_learn(name):
    """One label only: every plane is the gold one, and all is solved at w = 0 after one epoch."""
    learner, certificate = fit(SOLVERS[name](1.0), random_problem(0, n_labels=1), max_epochs=3)
    assert certificate == (0.0, 0.0)
    assert not learner.prediction_weights().any() and learner.progress().planes == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_planes_of_zero_norm(name):
    """Without features every ΔΦ of a single token vanishes though Δ = 1: ξ = 1 whatever w, and dual equals primal."""
    problem = random_problem(0, n_examples=7, n_labels=2, max_length=1)
    bare = chain_problem(problem.data._replace(feature_starts=np.zeros_like(problem.data.feature_starts)), 12)
    learner, certificate = fit(SOLVERS[name](0.25, tolerance=0), bare, max_epochs=40)
    assert certificate.primal == pytest.approx(7 * 0.25, rel=1e-12)
    assert certificate.gap == pytest.approx(0.0, abs=1e-2 if name == "FW, averaged" else 1e-12)
    assert not learner.prediction_weights().any()


@pytest.mark.parametrize("name", SOLVERS)
def test_no_examples(name):
    learner, certificate = fit(SOLVERS[name](1.0), random_problem(0, n_examples=0), max_epochs=2)
    assert not learner.prediction_weights().any()
    assert certificate == (0.0, 0.0)


@pytest.mark.parametrize("name", SOLVERS)
def test_empty_examples(name):
    """A sequence of no token has one structure, the gold one."""
    problem, chains = random_problem(3, n_examples=6), random_problem(3, n_examples=6).data
    with_empty = chain_problem(chains._replace(starts=np.insert(chains.starts, 3, chains.starts[3])), 12)
    _, certificate = fit(SOLVERS[name](0.1, tolerance=1e-3), with_empty, max_epochs=2000)
    _, without = fit(SOLVERS[name](0.1, tolerance=1e-3), problem, max_epochs=2000)
    assert certificate.relative_gap <= 1e-3
    assert certificate.primal >= without.dual * (1 - 1e-6) and without.primal >= certificate.dual * (1 - 1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_same_seed_gives_the_same_bytes(name):
    problem, solver = random_problem(10, real=True), SOLVERS[name]
    first, second = (fit(solver(0.5), problem, max_epochs=5)[0].prediction_weights() for _ in range(2))
    assert first.tobytes() == second.tobytes()
    if name in WITH_WORKING_SETS:
        other, _ = fit(solver(0.5, seed=1), problem, max_epochs=5)
        assert first.tobytes() != other.prediction_weights().tobytes()


@pytest.mark.parametrize("name", SOLVERS)
def test_asking_for_a_certificate_changes_no_bit(name):
    problem = random_problem(10, real=True)
    asked, left_alone = start(SOLVERS[name](0.5), problem), start(SOLVERS[name](0.5), problem)
    for seed in range(6):
        epochs(asked, 1, seed)
        epochs(left_alone, 1, seed)
        assert asked.certificate() is not None
    assert asked.prediction_weights().tobytes() == left_alone.prediction_weights().tobytes()


@pytest.mark.parametrize("name", WITH_WORKING_SETS)
def test_a_full_working_set_grows_without_a_trace(name):
    problem = random_problem(10)
    roomy, cramped = start(SOLVERS[name](0.5), problem), start(SOLVERS[name](0.5), problem)
    roomy.planes = working_set.empty(problem.n_examples, planes=100_000, entries=1_000_000)
    cramped.planes = working_set.empty(problem.n_examples, planes=3, entries=40)
    for learner in (roomy, cramped):
        epochs(learner, 6)
    assert cramped.prediction_weights().tobytes() == roomy.prediction_weights().tobytes()
    assert cramped.certificate() == roomy.certificate()


@pytest.mark.parametrize("name", SOLVERS)
def test_dual_variables_are_feasible_and_make_w(name):
    learner = epochs(start(SOLVERS[name](0.5), random_problem(10)), 8)
    if "1-slack" in name:
        assert (learner.alpha >= 0).all() and learner.alpha.sum() == pytest.approx(0.5, rel=1e-12)
        return
    summed, planes = np.zeros_like(learner.w), learner.planes
    dual_variables.weighted_sum(planes, summed)
    np.testing.assert_allclose(learner.w, summed, rtol=0, atol=1e-5 if "FW" in name else 1e-12)
    for p in planes.head:
        total = 0.0
        while p != working_set.NONE:
            assert planes.alpha[p] > 0
            total += planes.alpha[p]
            p = planes.next[p]
        assert SOLVERS[name].power == 2 or total <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("name", WITH_WORKING_SETS)
def test_removed_examples_leave_nothing_behind(name):
    solver, problem = SOLVERS[name], random_problem(10)
    learner = epochs(start(solver(0.5), problem), 4)
    gone = np.array([3, 17, 4])
    learner.remove(gone)
    assert (learner.planes.head[gone] == working_set.NONE).all()
    summed = np.zeros_like(learner.w)
    dual_variables.weighted_sum(learner.planes, summed)
    np.testing.assert_allclose(learner.prediction_weights(), summed, rtol=0, atol=1e-5 if "FW" in name else 1e-12)
    assert learner.certificate().gap >= 0
    learner.remove(np.arange(30))
    assert np.abs(learner.prediction_weights()).max() < (1e-5 if "FW" in name else 1e-12)
    assert learner.progress().planes == 0
    epochs(learner, 200)
    _, fresh = fit(solver(0.5), problem, max_epochs=400)
    again = learner.certificate()
    assert again.primal >= fresh.dual * (1 - 1e-6) and fresh.primal >= again.dual * (1 - 1e-6)
    assert 0 <= again.relative_gap < 0.01


@pytest.mark.parametrize("name", SOLVERS)
def test_forgotten_examples_leave_w_but_no_certificate(name):
    learner = epochs(start(SOLVERS[name](0.5), random_problem(10)), 4)
    w = learner.prediction_weights().tobytes()
    learner.forget(np.array([3, 17, 4]))
    assert learner.prediction_weights().tobytes() == w
    assert learner.certificate() is None and learner.progress().dual is None and not learner.done()
    epochs(learner, 2)
    assert learner.certificate() is None
    assert learner.prediction_weights().tobytes() != w


@pytest.mark.parametrize("name", SOLVERS)
def test_a_warm_start_goes_on_from_where_it_is_told(name):
    problem = random_problem(10)
    weights = fit(SOLVERS[name](0.5), problem, max_epochs=3)[0].prediction_weights()
    learner = start(SOLVERS[name](0.5), problem, weights)
    assert learner.prediction_weights().tobytes() == weights.tobytes()
    before = objective(all_planes(problem), np.zeros_like(weights), 0.5, SOLVERS[name].power)
    epochs(learner, 30)
    assert learner.certificate().gap >= -1e-9
    after = objective(all_planes(problem), learner.prediction_weights(), 0.5, SOLVERS[name].power)
    assert after < 0.7 * before


@pytest.mark.parametrize("name", SOLVERS)
def test_examples_and_features_may_be_added(name):
    """It ends where one that has known them from the start ends."""
    part, whole = halves()
    solver = SOLVERS[name]
    learner = epochs(start(solver(0.5), part), 3)
    before = learner.prediction_weights()
    learner.extend(whole)
    after = learner.prediction_weights()
    np.testing.assert_array_equal(after, np.concatenate([before, np.zeros(whole.dimension - part.dimension)]))
    epochs(learner, 300)
    _, fresh = fit(solver(0.5, tolerance=1e-3), whole, max_epochs=1000)
    grown = learner.certificate()
    assert -solver.rounding <= grown.relative_gap <= 5e-3
    assert grown.primal >= fresh.dual * (1 - 1e-6) and fresh.primal >= grown.dual * (1 - 1e-6)
