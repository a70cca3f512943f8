"""What learners promise those who drive them: determinism, growth, and examples that come and go."""

import numpy as np
import pytest

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.problem import chain_problem
from spacy_ssvm.solvers import dual_variables, working_set
from spacy_ssvm.solvers.fit import fit, start
from spacy_ssvm.solvers.parameters import Dcd, Mira, Perceptron, Sap, Sgd, dcd_light

from ..problems import random_problem
from .running import epochs

ALL = [Perceptron(), Mira(), Sgd(), dcd_light(C=0.5), Dcd(C=0.5), Sap(C=0.5, rho1=0.1, rho2=0.5)]
DUAL = ALL[3:]


def planes_of(planes, example):
    """(α, Δ, indices, values) of each plane in an example's working set."""
    found, p = [], planes.head[example]
    while p != working_set.NONE:
        entries = slice(planes.begin[p], planes.begin[p] + planes.size[p])
        found.append((planes.alpha[p], planes.loss[p], planes.indices[entries], planes.values[entries]))
        p = planes.next[p]
    return found


@pytest.mark.parametrize("parameters", ALL)
def test_the_same_seed_gives_the_same_bytes(parameters):
    problem = random_problem(10, real=True)
    first, second = (fit(parameters, problem, max_epochs=5)[0].prediction_weights() for _ in range(2))
    other, _ = fit(type(parameters)(**{**vars(parameters), "seed": 1}), problem, max_epochs=5)
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.prediction_weights().tobytes()


@pytest.mark.parametrize("parameters", DUAL)
def test_asking_for_a_certificate_changes_no_bit(parameters):
    problem = random_problem(10, real=True)
    asked, left_alone = start(parameters, problem), start(parameters, problem)
    for seed in range(10):
        epochs(asked, 1, seed)
        epochs(left_alone, 1, seed)
        assert asked.certificate() is not None
    assert asked.w.tobytes() == left_alone.w.tobytes()


@pytest.mark.parametrize("parameters", DUAL)
def test_a_full_working_set_grows_without_a_trace(parameters):
    problem = random_problem(10)
    roomy, cramped = start(parameters, problem), start(parameters, problem)
    roomy.planes = working_set.empty(problem.n_examples, planes=100_000, entries=1_000_000)
    cramped.planes = working_set.empty(problem.n_examples, planes=3, entries=40)
    for learner in (roomy, cramped):
        epochs(learner, 8)
    assert len(cramped.planes.next) > 3
    assert cramped.w.tobytes() == roomy.w.tobytes()
    assert cramped.progress() == roomy.progress()
    assert cramped.certificate() == roomy.certificate()


@pytest.mark.parametrize("parameters", DUAL)
def test_working_sets_hold_different_planes_with_feasible_alpha(parameters):
    learner = epochs(start(parameters, random_problem(10)), 8)
    summed = np.zeros_like(learner.w)
    total = 0
    for example in range(learner.problem.n_examples):
        planes = planes_of(learner.planes, example)
        assert len({(loss, *indices, *values) for _, loss, indices, values in planes}) == len(planes)
        assert all(alpha > 0 and (np.diff(indices) > 0).all() for alpha, _, indices, _ in planes)
        if isinstance(parameters, Sap):
            assert sum(alpha for alpha, *_ in planes) <= parameters.C * (1 + 1e-12)
        for alpha, _, indices, values in planes:
            summed[indices] += alpha * values
        total += len(planes)
    assert learner.progress().planes == total > 0
    s = learner.s if isinstance(parameters, Sap) else learner.w
    np.testing.assert_allclose(s, summed, rtol=0, atol=1e-12)


@pytest.mark.parametrize("parameters", DUAL)
def test_removed_examples_leave_nothing_behind(parameters):
    learner = epochs(start(parameters, random_problem(10)), 4)
    gone = np.array([3, 17, 4])
    learner.remove(gone)
    assert not any(planes_of(learner.planes, example) for example in gone)
    summed = np.zeros_like(learner.w)
    dual_variables.weighted_sum(learner.planes, summed)
    np.testing.assert_allclose(learner.s if isinstance(parameters, Sap) else learner.w, summed, rtol=0, atol=1e-12)
    assert learner.certificate().gap >= 0
    learner.remove(np.arange(30))
    assert np.abs(learner.w).max() < 1e-12
    assert learner.progress().planes == 0


@pytest.mark.parametrize("parameters", DUAL)
def test_forgotten_examples_leave_w_but_no_certificate(parameters):
    learner = epochs(start(parameters, random_problem(10)), 4)
    w = learner.w.copy()
    learner.forget(np.array([3, 17, 4]))
    assert learner.w.tobytes() == w.tobytes()
    assert learner.certificate() is None and learner.progress().dual is None and not learner.done()
    assert not planes_of(learner.planes, 3)


def halves():
    """A problem, and another of its first ten examples with fewer feature rows: those that they use."""
    whole = random_problem(11, n_examples=20, n_rows=30)
    chains = whole.data
    tokens = chains.starts[10]
    features = chains.feature_starts[tokens]
    names, rows = np.unique(chains.rows, return_index=True)
    order = names[np.argsort(rows)]
    renamed = np.argsort(order)[chains.rows]
    relabelled = chain_problem(chains._replace(rows=renamed.astype(np.int32)), 30)
    part = make_chains(
        chains.starts[:11],
        chains.feature_starts[: tokens + 1],
        renamed[:features],
        chains.gold[:tokens],
        chains.constraints,
    )
    return chain_problem(part, int(renamed[:features].max()) + 1), relabelled


@pytest.mark.parametrize("parameters", ALL)
def test_examples_and_features_may_be_added(parameters):
    """A dual solver ends where one that has known them from the start ends."""
    part, whole = halves()
    assert part.dimension < whole.dimension
    learner = epochs(start(parameters, part), 3)
    before = learner.prediction_weights()
    learner.extend(whole)
    after = learner.prediction_weights()
    np.testing.assert_array_equal(after, np.concatenate([before, np.zeros(whole.dimension - part.dimension)]))
    epochs(learner, 3)
    assert len(learner.prediction_weights()) == whole.dimension
    if parameters in DUAL:
        epochs(learner, 400)
        _, fresh = fit(parameters, whole, max_epochs=400)
        grown = learner.certificate()
        assert -1e-12 <= grown.relative_gap <= 1e-3
        assert grown.primal >= fresh.dual * (1 - 1e-12) and fresh.primal >= grown.dual * (1 - 1e-12)


@pytest.mark.parametrize("parameters", ALL)
def test_a_warm_start_begins_where_it_is_told(parameters):
    problem = random_problem(10)
    weights = fit(parameters, problem, max_epochs=3)[0].prediction_weights()
    learner = start(parameters, problem, weights)
    assert learner.prediction_weights().tobytes() == weights.tobytes()
    if parameters in DUAL:
        assert learner.certificate().dual == pytest.approx(0.0, abs=1e-12)
    epochs(learner, 2)
    if parameters in DUAL:
        assert 0.0 < learner.certificate().dual <= learner.certificate().primal
    else:
        assert learner.certificate() is None
    assert learner.prediction_weights().tobytes() != weights.tobytes()


def test_sap_starts_warm_from_the_s_that_gives_its_weights():
    problem = random_problem(10)
    weights = fit(Sap(C=0.5, rho1=0.1), problem, max_epochs=3)[0].w
    learner = start(Sap(C=0.5, rho1=0.3, rho2=2.0), problem, weights)
    learner.remove(np.zeros(0, np.int64))
    np.testing.assert_allclose(learner.w, weights, rtol=0, atol=1e-12)
