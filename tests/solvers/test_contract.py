"""The contract of all solvers with the loops that drive them, whatever they solve."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import groupby
from zlib import crc32

import numpy as np
import pytest

from spacy_ssvm.solvers import dual, working_set
from spacy_ssvm.solvers.dca import Dca
from spacy_ssvm.solvers.dcd import Cpd, Dcd, dcd_light
from spacy_ssvm.solvers.dual import DualLearner
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.frank_wolfe import FrankWolfe
from spacy_ssvm.solvers.l1 import Extragradient, ExtragradientLearner, ProjectedSubgradient
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import fit, run_epoch, start
from spacy_ssvm.solvers.lse import Lse, LseCuttingPlane, LseSdcd
from spacy_ssvm.solvers.mira import Mira, PredictionMira
from spacy_ssvm.solvers.one_slack import OneSlack
from spacy_ssvm.solvers.parameters import DualParameters
from spacy_ssvm.solvers.perceptron import Perceptron
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.solvers.sdm import Sdm
from spacy_ssvm.solvers.sgd import Sgd
from spacy_ssvm.structures.tree.parts import PROJECTIVE_SIBLINGS, SPANNING, SPANNING_GRANDPARENTS

from ..models.tree.enumeration import tree_problem
from ..problems import all_planes, halves, objective, random_problem, without_features
from .running import epochs, planes_of, until

C = 0.5
COSTS = {"C": C, "rho1": 0.1, "rho2": 0.5}
SOLVERS = {
    "perceptron": Perceptron(),
    "MIRA": Mira(),
    "MIRA, k = 4": Mira(k=4),
    "prediction MIRA": PredictionMira(),
    "prediction MIRA, k = 4": PredictionMira(k=4),
    "SGD": Sgd(C=C, eta0=0.25),
    "SGD, eta0 selected": Sgd(C=C),
    "SGD, large margin": Sgd(C=C, gamma=2, eta0=0.25),
    "SGD, CRF": Sgd(C=C, beta=1, gamma=0, eta0=0.25),
    "DCA": Dca(C=C),
    "DCA, large margin": Dca(C=C, beta="inf", gamma=2),
    "L-BFGS": Lbfgs(C=C),
    "L-BFGS, CRF": Lbfgs(C=C, beta=2, gamma=0),
    "EG": ExponentiatedGradient(C=C, tolerance=0),
    "EG, CRF": ExponentiatedGradient(C=C, beta=2, gamma=0),
    "projected subgradient": ProjectedSubgradient(epsilon=3.0),
    "extragradient": Extragradient(C=C),
    "DCD-Light": dcd_light(C=C, delta=0),
    "DCD-SSVM": Dcd(C=C, delta=0),
    "DCD-SSVM, delta": Dcd(C=C),
    "CPD": Cpd(C=C, delta=0),
    "1-slack": OneSlack(C=C),
    "1-slack, no idle planes": OneSlack(C=C, idle_epochs=0),
    "FW": FrankWolfe(C=C),
    "FW, averaged": FrankWolfe(C=C, averaging=True),
    "SDM": Sdm(C=C, kappa1=3),
    "SAP": Sap(**COSTS),
    "SAP, no L1": Sap(C=C, rho1=0, rho2=1),
    "SAP, sparse": Sap(C=C, rho1=1, rho2=0.3),
    "SAP, nu": Sap(**COSTS, nu=1.0),
    "SAP, mu": Sap(**COSTS, mu=1.0),
    "SAP, nu and mu": Sap(**COSTS, nu=0.1, mu=0.3),
    "SAP, batch": Sap(**COSTS, batch=True),
    "SAP, batch, nu and mu": Sap(**COSTS, nu=0.1, mu=0.3, batch=True),
    "LSE": LseSdcd(C=C, kappa1=2),
    "LSE, cutting plane": LseCuttingPlane(C=C, kappa1=2),
}


@cache
def kind_of(name):
    return type(start(SOLVERS[name], random_problem(0)))


def has_dual(name):
    return issubclass(kind_of(name), DualLearner)


def has_planes(name):
    return has_dual(name) or kind_of(name) is ExtragradientLearner


def is_certified(name):
    return isinstance(SOLVERS[name], DualParameters) and not isinstance(SOLVERS[name], Lse)


def names(*kinds, without=()):
    """Parametrises a test by the solvers that are of all of these kinds; of one's variants all but one are slow."""
    chosen = [name for name in SOLVERS if all(kind(name) for kind in kinds) and not name.startswith(without)]

    def parametrise(test):
        cases = []
        for _, some in groupby(chosen, lambda name: name.partition(",")[0]):
            variants = [*some]
            turn = variants[crc32(test.__name__.encode()) % len(variants)]
            cases += [pytest.param(name, marks=[pytest.mark.slow] * (name != turn)) for name in variants]
        return pytest.mark.parametrize("name", cases)(test)

    return parametrise


def rounding(name):
    """Of relative gaps and duals: means of planes are in single precision."""
    return 1e-6 if name.startswith("FW") else 1e-12


def primal(parameters, planes, w):
    """The objective of a certified solver, by enumeration."""
    if isinstance(parameters, Sap):
        return objective(planes, w, parameters.C, 1, parameters.rho1, parameters.rho2)
    return objective(planes, w, parameters.C, 2 if isinstance(parameters, Dcd | Cpd) else 1)


def bytes_of(learner):
    return learner.prediction_weights().tobytes()


def started(name, problem=None, weights=None):
    return start(SOLVERS[name], random_problem(10) if problem is None else problem, weights)


PROBLEMS = {
    "indicators": lambda: random_problem(4, max_length=4),
    "real values": lambda: random_problem(4, max_length=4, real=True),
    "projective trees": lambda: tree_problem(4),
    "spanning trees": lambda: tree_problem(4, structure=SPANNING, max_length=3),
    "trees with siblings": lambda: tree_problem(4, structure=PROJECTIVE_SIBLINGS),
}


@cache
def with_planes(kind):
    problem = PROBLEMS[kind]()
    return problem, all_planes(problem)


@names(is_certified)
@pytest.mark.parametrize("C", [0.02, 0.5])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_epoch(name, C, kind):
    """The dual never decreases, the gap is never negative, and the primal is what enumeration says.

    The dual of an average may decrease, and so may the one that SAP with costs reports; test_sap_variants has its own.
    """
    problem, planes = with_planes(kind)
    parameters = replace(SOLVERS[name], C=C)
    learner, rng, before = start(parameters, problem), np.random.default_rng(0), 0.0
    error = max(rounding(name), 1e-6 if kind == "real values" else 0.0)
    for _ in range(15):
        figures = run_epoch(learner, rng)
        certificate = learner.certificate()
        assert figures.dual == pytest.approx(certificate.dual, rel=max(error, 1e-9))
        by_enumeration = primal(parameters, planes, learner.prediction_weights())
        assert certificate.primal == pytest.approx(by_enumeration, rel=max(error, 1e-9))
        assert certificate.gap >= -error * certificate.primal
        if name != "FW, averaged" and not (isinstance(parameters, Sap) and (parameters.batch or parameters.nu)):
            assert certificate.dual >= before - error * abs(before)
        before = certificate.dual


@names(is_certified)
def test_fit_stops_at_its_tolerance(name):
    parameters, problem = replace(SOLVERS[name], C=0.05, tolerance=1e-3), random_problem(5)
    learner, certificate = fit(parameters, problem, max_epochs=2000)
    assert learner.done() and -rounding(name) <= certificate.relative_gap <= 1e-3
    _, again = fit(parameters, problem, max_epochs=4000)
    assert again == certificate, "more epochs were allowed, none was used"
    assert learner.progress().planes > 0 and learner.progress().loss > 0


@names(without=("DCD", "CPD", "1-slack", "FW", "SDM", "SAP", "L-BFGS", "EG"))
def test_other_solvers_have_no_certificate(name):
    learner, certificate = fit(SOLVERS[name], random_problem(5), max_epochs=2)
    assert certificate is None and learner.certificate() is None
    if not name.startswith("LSE"):
        assert learner.progress().dual is None and not learner.done()
    assert learner.progress().loss > 0 and learner.prediction_weights().any()


@names(is_certified)
def test_decoding_that_is_not_exact_gives_no_certificate(name):
    learner, certificate = fit(SOLVERS[name], tree_problem(4, structure=SPANNING_GRANDPARENTS), 5)
    assert certificate is None and not learner.done()


@names()
def test_oracles_that_a_structure_does_not_offer(name):
    problem = tree_problem(structure=PROJECTIVE_SIBLINGS)
    missing = {"cliques": "exact marginals", "kbest": "the k best structures, exactly"}
    needs = started(name).needs
    if needs == "max":
        assert fit(SOLVERS[name], problem, 2)[0].prediction_weights().any()
    else:
        with pytest.raises(ValueError, match=rf"needs {missing[needs]}, which the model's structure does not offer"):
            start(SOLVERS[name], problem)


@names()
def test_the_same_seed_gives_the_same_bytes(name):
    """Asking for figures and certificates changes nothing."""
    problem = random_problem(10, real=True)
    first, second = start(SOLVERS[name], problem), start(SOLVERS[name], problem)
    rngs = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(6):
        run_epoch(first, rngs[0])
        second.begin_epoch(rngs[1])
        second.visit(rngs[1].permutation(problem.n_examples))
        second.end_epoch()
        first.certificate()
        first.done()
    assert first.w.any() and first.w.tobytes() == second.w.tobytes() and bytes_of(first) == bytes_of(second)


@names(without=("L-BFGS", "1-slack", "extragradient", "SAP, batch", "LSE, cutting plane"))
def test_another_seed_gives_other_bytes(name):
    problem = random_problem(10, real=True)
    one, other = (fit(replace(SOLVERS[name], seed=seed), problem, max_epochs=5)[0] for seed in (0, 1))
    assert bytes_of(one) != bytes_of(other)


def is_plain(value):
    if isinstance(value, list | dict):
        return all(isinstance(part, np.ndarray) for part in (value.values() if isinstance(value, dict) else value))
    return value is None or type(value) in (bool, int, float, np.ndarray)


@names()
@pytest.mark.parametrize("warm", [False, True])
def test_the_state_is_all_that_is_needed_to_go_on(name, warm):
    """N + M epochs are N, a state, and M epochs of another learner; in the midst of an epoch, too."""
    problem, rng = random_problem(10), np.random.default_rng(0)
    weights = np.random.default_rng(1).normal(size=problem.dimension) / 8 if warm else None
    learner = start(SOLVERS[name], problem, weights)
    for _ in range(3):
        run_epoch(learner, rng)
    learner.begin_epoch(rng)
    order = rng.permutation(problem.n_examples)
    learner.visit(order[:13])
    state = deepcopy(learner.state())
    assert all(is_plain(value) for value in state.values())
    other, same_rng = start(SOLVERS[name], problem), deepcopy(rng)
    other.restore(state, same_rng)
    assert other.progress() == learner.progress() and bytes_of(other) == bytes_of(learner)
    for one, its_rng in ((learner, rng), (other, same_rng)):
        one.visit(order[13:])
        one.end_epoch()
        for _ in range(3):
            run_epoch(one, its_rng)
    assert bytes_of(other) == bytes_of(learner)
    assert other.progress() == learner.progress() and other.certificate() == learner.certificate()
    np.testing.assert_equal(other.state(), learner.state())


@names()
def test_the_state_after_a_change_to_fewer_examples_can_be_restored(name):
    """As of a stream, whose examples are given up when there are too many."""
    many, few, rng = random_problem(1, n_examples=30), random_problem(1, n_examples=8), np.random.default_rng(0)
    learner = start(SOLVERS[name], many)
    run_epoch(learner, rng)
    learner.change(few, np.arange(30), subtracts=False)
    run_epoch(learner, rng)
    other = start(SOLVERS[name], few)
    other.restore(deepcopy(learner.state()), deepcopy(rng))
    assert bytes_of(other) == bytes_of(learner)


def damaged(value):
    """Values that are not like this one, of a state."""
    yield "text"
    if isinstance(value, dict):
        yield {}
        for name, part in value.items():
            yield from ({**value, name: wrong} for wrong in damaged(part))
    elif isinstance(value, list):
        yield [*value, 1.0]
    elif isinstance(value, np.ndarray):
        yield value.astype(np.complex128)
        yield value[None]
        if value.dtype.kind == "f" and value.size:
            yield np.full_like(value, np.nan)
    elif isinstance(value, float):
        yield np.nan


@names()
def test_a_damaged_state_is_refused(name):
    state = deepcopy(epochs(started(name), 3).state())
    for key in state:
        with pytest.raises(ValueError, match="saved by another solver"):
            started(name).restore({other: value for other, value in state.items() if other != key}, None)
        for wrong in damaged(state[key]):
            with pytest.raises(ValueError, match="its "):
                started(name).restore({**state, key: wrong}, None)
    with pytest.raises(ValueError, match="saved by another solver"):
        started(name).restore({**state, "other": 1.0}, None)


@names(has_planes)
def test_a_working_set_grows_without_a_trace(name, monkeypatch):
    """In steps as small as can be, with gaps that are closed, against one with room for all from the start."""
    roomy, cramped = started(name), started(name)
    roomy.planes = working_set.empty(30, planes=100_000, codes=1_000_000)
    epochs(roomy, 6)
    monkeypatch.setattr(dual, "MIN_PART", 2)
    monkeypatch.setattr(working_set, "SPARE_PLANES", 0)
    monkeypatch.setattr(working_set, "SPARE_CODES", 0)
    cramped.planes = working_set.empty(30, planes=3, codes=40)
    epochs(cramped, 6)
    assert 3 < len(cramped.planes.next) < 1000
    assert cramped.w.tobytes() == roomy.w.tobytes() and bytes_of(cramped) == bytes_of(roomy)
    assert cramped.progress() == roomy.progress() and cramped.certificate() == roomy.certificate()


def dual_point(learner):
    """s, which Σ α ΔΦ is, and how exactly."""
    return learner.s if isinstance(learner.parameters, Sap) else learner.w


@names(has_dual)
def test_working_sets_hold_feasible_dual_variables_that_make_w(name):
    learner = epochs(started(name), 8)
    summed, total = np.zeros_like(learner.w), 0
    for example in range(30):
        planes = planes_of(learner.planes, example)
        alphas = [alpha for alpha, *_ in planes]
        if not name.startswith("LSE"):
            assert len({(loss, *indices, *values) for _, loss, indices, values in planes}) == len(planes)
            assert all(alpha > 0 for alpha in alphas)
            assert isinstance(SOLVERS[name], Dcd | Cpd) or sum(alphas) <= C * (1 + 1e-12)
        for alpha, _, indices, values in planes:
            assert alpha >= 0 and (np.diff(indices) > 0).all()
            summed[indices] += alpha * values
        total += len(planes)
    assert learner.progress().planes == total > 0
    np.testing.assert_allclose(dual_point(learner), summed, rtol=0, atol=1e-5 if name.startswith("FW") else 1e-12)


@names(has_dual)
def test_removed_examples_leave_nothing_in_w(name):
    learner = epochs(started(name), 4)
    learner.change(learner.problem, np.array([3, 17, 4]))
    assert not any(planes_of(learner.planes, example) for example in (3, 17, 4))
    summed, atol = np.zeros_like(learner.w), 1e-5 if name.startswith("FW") else 1e-12
    working_set.weighted_sum(learner.planes, summed)
    np.testing.assert_allclose(dual_point(learner), summed, rtol=0, atol=atol)
    if is_certified(name):
        assert learner.certificate().gap >= 0
        assert 0 <= until(learner, 5e-3, 300).certificate().relative_gap < 0.01, "learning goes on"
    learner.change(learner.problem, np.arange(30))
    assert np.abs(learner.prediction_weights()).max() <= atol and learner.progress().planes == 0
    dual_before = learner.progress().dual
    assert epochs(learner, 1).progress().dual > dual_before


@names()
def test_forgotten_examples_leave_w_as_it_is(name):
    """From then on there is neither a dual objective nor a certificate, and learning goes on."""
    learner = epochs(started(name), 4)
    w = bytes_of(learner)
    learner.change(learner.problem, np.array([3, 17, 4]), subtracts=False)
    assert bytes_of(learner) == w
    if has_planes(name):
        assert learner.progress().planes and not any(planes_of(learner.planes, k) for k in (3, 17, 4))
    for _ in range(2):
        assert learner.certificate() is None and learner.progress().dual is None and not learner.done()
        epochs(learner, 2)
    assert bytes_of(learner) != w
    if not name.startswith(("DCD", "CPD", "1-slack", "FW", "SDM", "SAP", "LSE", "EG")):
        w = bytes_of(learner)
        learner.change(learner.problem, np.arange(1, 30))
        assert bytes_of(learner) == w, "without dual variables nothing could be taken out, either"
        if has_planes(name):
            assert planes_of(learner.planes, 0) and not any(planes_of(learner.planes, k) for k in range(1, 30))


@names()
def test_examples_and_features_may_be_added(name):
    """A solver with a dual ends where one that has known them from the start ends."""
    part, whole = halves()
    parameters = replace(SOLVERS[name], tolerance=1e-3) if name.startswith("LSE") else SOLVERS[name]
    learner = epochs(start(parameters, part), 3)
    before = learner.prediction_weights()
    learner.change(whole)
    after = learner.prediction_weights()
    np.testing.assert_array_equal(after, np.concatenate([before, np.zeros(whole.dimension - part.dimension)]))
    new = epochs(learner, 3).prediction_weights()[part.dimension :]
    assert len(new) == whole.dimension - part.dimension > 0
    assert new.any() or name in ("projected subgradient", "extragradient", "SAP, sparse")
    if is_certified(name):
        grown = until(learner, 5e-3, 400).certificate()
        _, fresh = fit(parameters, whole, max_epochs=1000)
        assert -rounding(name) <= grown.relative_gap <= 5e-3
        assert grown.primal >= fresh.dual * (1 - 1e-6) and fresh.primal >= grown.dual * (1 - 1e-6)
    elif name.startswith("LSE"):
        fresh = epochs(start(parameters, whole), 60)
        assert epochs(learner, 60).progress().dual == pytest.approx(fresh.progress().dual, rel=1e-3)


@names()
def test_weights_may_be_added_one_by_one(name):
    part, whole = halves()
    at_once, one_by_one = (epochs(start(SOLVERS[name], part), 2) for _ in range(2))
    for dimension in range(part.dimension + 1, whole.dimension):
        one_by_one.change(replace(part, dimension=dimension))
        assert len(one_by_one.prediction_weights()) == dimension
    for learner in (at_once, one_by_one):
        learner.change(whole)
        epochs(learner, 2)
    assert bytes_of(at_once) == bytes_of(one_by_one)


@names()
def test_a_warm_start_begins_where_it_is_told(name):
    problem = random_problem(10)
    weights = fit(SOLVERS[name], problem, max_epochs=3)[0].prediction_weights()
    learner = start(SOLVERS[name], problem, weights)
    np.testing.assert_allclose(learner.prediction_weights(), weights, rtol=1e-12, atol=1e-15)
    if is_certified(name):
        assert learner.certificate().dual == pytest.approx(0.0, abs=1e-12)
        assert 0.0 < epochs(learner, 3).certificate().dual <= learner.certificate().primal
    assert np.abs(epochs(learner, 3).prediction_weights() - weights).max() > 1e-9
    if has_dual(name):
        learner.change(learner.problem, np.arange(30))
        np.testing.assert_allclose(learner.prediction_weights(), weights, rtol=0, atol=1e-5)


@names()
def test_nothing_to_learn(name):
    """No example; one label only, so that every plane is the gold one; planes of zero norm, where ξ = 1 whatever w."""
    certified = is_certified(name)
    for problem in (random_problem(0, n_examples=0), random_problem(0, n_labels=1)):
        learner, certificate = fit(SOLVERS[name], problem, max_epochs=3)
        assert not learner.prediction_weights().any() and not learner.progress().planes
        assert certificate == (0.0, 0.0) or not certified
    exact = replace(SOLVERS[name], tolerance=0) if certified else SOLVERS[name]
    learner, certificate = fit(exact, without_features(), max_epochs=200 if certified else 3)
    assert not learner.prediction_weights().any()
    if certified:
        assert certificate.primal == pytest.approx(7 * C, rel=1e-12)
        assert certificate.gap == pytest.approx(0.0, abs=1e-2 if name == "FW, averaged" else 1e-8)


@pytest.mark.parametrize("name", ["CPD", "FW", "FW, averaged", "SDM"])
def test_epochs_that_miss_examples_come_to_the_optimum_too(name):
    learner, rng = started(name), np.random.default_rng(0)
    for _ in range(2500):
        run_epoch(learner, rng, rng.permutation(30)[:20])
        if learner.done():
            break
    assert learner.certificate().relative_gap <= 1e-3


@names(is_certified)
def test_empty_examples(name):
    """A sequence of no token has one structure, the gold one."""
    parameters, problem = replace(SOLVERS[name], C=0.1, tolerance=1e-3), random_problem(3, n_examples=6)
    chains = problem.data
    with_empty = chains._replace(starts=np.insert(chains.starts, 3, chains.starts[3]))
    bounds = np.insert(problem.plane_entries, 3, 0)
    with_empty = replace(problem, data=with_empty, n_examples=7, plane_entries=bounds)
    _, certificate = fit(parameters, with_empty, max_epochs=2000)
    _, without = fit(parameters, problem, max_epochs=2000)
    assert certificate.relative_gap <= 1e-3
    assert certificate.primal >= without.dual * (1 - 1e-6) and without.primal >= certificate.dual * (1 - 1e-6)
