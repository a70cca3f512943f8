"""L-BFGS: certificates by definition; its optimum and exponentiated gradient's against SciPy and scikit-learn."""

import math
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from spacy_ssvm.models.chain.data import make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.exponentiated_gradient import ExponentiatedGradient
from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import fit, run_epoch, start
from spacy_ssvm.solvers.sap import Sap
from spacy_ssvm.structures.chain.constraints import unconstrained

from ..corpora import needs_ewt, tagged
from ..models.tree.enumeration import tree_problem
from ..problems import random_problem, single_tokens
from .family_reference import PROBLEMS, family, family_of, problem_of
from .running import epochs

MEMBERS = [(1.0, 0.0), (1.0, 1.0), (4.0, 0.5)]


@cache
def scipys_optimum(kind, member, C):
    known = family_of(kind, *member)
    start_at = np.zeros(known.differences[0].shape[1])
    return minimize(known.primal, start_at, (C,), jac=True, method="BFGS", options={"gtol": 1e-6})


def with_family(kind, member):
    return problem_of(kind), family_of(kind, *member)


BOTH = {"L-BFGS": (Lbfgs, 1e-10), "EG": (ExponentiatedGradient, 1e-6)}
"""The smooth solvers and the gaps that they close."""
both = pytest.mark.parametrize("solver", BOTH)


@both
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_the_enumerated_optimum(solver, kind, member, C):
    """The gap bounds ½‖w − w*‖² as P is strongly convex, and w is within its root of SciPy's on enumerated planes."""
    problem, (beta, gamma), (make, gap) = problem_of(kind), member, BOTH[solver]
    learner, certificate = fit(make(C=C, beta=beta, gamma=gamma, tolerance=gap), problem, max_epochs=300)
    theirs = scipys_optimum(kind, member, C)
    assert -1e-6 <= certificate.relative_gap <= gap
    assert certificate.primal == pytest.approx(theirs.fun, rel=2 * gap + 1e-8)
    np.testing.assert_allclose(learner.w, theirs.x, rtol=0, atol=1.5 * np.sqrt(2 * gap * theirs.fun) + 1e-4)


@both
def test_fit_stops_at_its_tolerance(solver):
    problem, parameters = random_problem(5), BOTH[solver][0](C=5.0, **({"iterations": 2} if solver == "L-BFGS" else {}))
    learner, certificate = fit(parameters, problem, max_epochs=200)
    assert learner.done() and 0 <= certificate.relative_gap <= parameters.tolerance
    assert fit(parameters, problem, max_epochs=400)[1] == certificate, "more epochs were allowed, none was used"
    assert fit(parameters, problem, max_epochs=1)[1].relative_gap > parameters.tolerance


@both
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_crf_of_single_tokens_is_logistic_regression(solver, C):
    linear_model = pytest.importorskip("sklearn.linear_model")
    (make, gap), (problem, X, y) = BOTH[solver], single_tokens(4, seed=9)
    learner, _ = fit(make(C=C, gamma=0, tolerance=gap), problem, max_epochs=300)
    theirs = linear_model.LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(X, y)
    assert not learner.w[:16].any()
    np.testing.assert_allclose(learner.w[16:].reshape(-1, 4).T, theirs.coef_, atol=1e-4 if solver == "L-BFGS" else 1e-2)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_epoch(kind, member):
    """The primal is that of its definition, and falls; the dual rises between that of the same w and the optimum."""
    (problem, known), (beta, gamma), C = with_family(kind, member), member, 0.5
    learner, before = start(Lbfgs(C=C, beta=beta, gamma=gamma, iterations=3), problem), (math.inf, 0.0)
    theirs = scipys_optimum(kind, member, C)
    for seed in range(4):
        at_start, w = known.primal(learner.w, C)[0], learner.w.copy()
        rng = np.random.default_rng(seed)
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(problem.n_examples))
        assert learner.w.tobytes() == w.tobytes()
        figures = learner.progress()
        assert figures.loss == pytest.approx((at_start - w @ w / 2) / C) and figures.primal == pytest.approx(at_start)
        assert figures.dual is figures.planes is None
        learner.end_epoch()
        certificate, (primal, gradient) = learner.certificate(), known.primal(learner.w, C)
        assert certificate.primal == pytest.approx(primal, rel=1e-9)
        assert certificate.gap <= gradient @ gradient / 2 * (1 + 1e-6) + 1e-12 * primal
        assert known.dual(learner.w, C) - 1e-9 * primal <= certificate.dual <= theirs.fun * (1 + 1e-9)
        assert learner.progress()[1:3] == pytest.approx(certificate, rel=1e-9)
        assert certificate.primal < before[0] and certificate.dual >= before[1] * (1 - 1e-12)
        before = certificate


def test_the_dual_point_of_a_single_w():
    """At first, α = 0 except for the gold structures; the next point is the best one on the way to α = C · P(·; w)."""
    (problem, known), C = with_family("indicators", (1.0, 0.0)), 0.5
    learner, w = start(Lbfgs(C=C, gamma=0), problem), np.random.default_rng(0).normal(size=problem.dimension) / 4
    learner.w = w
    s = w - known.primal(w, C)[1]
    linear = known.dual(w, C) + s @ s / 2
    best = max(t * linear - t**2 * (s @ s) / 2 for t in np.linspace(0, 1, 10_001))
    assert 0 < learner.certificate().dual == pytest.approx(best, rel=1e-6)


def test_epochs_keep_the_curvature():
    """Four epochs of three iterations are one of twelve, byte for byte."""
    problem = random_problem(10, real=True)
    many, one = (epochs(start(Lbfgs(C=2.0, iterations=n), problem), 12 // n) for n in (3, 12))
    assert many.w.tobytes() == one.w.tobytes() and many.certificate() == one.certificate()


@pytest.mark.parametrize("make", [random_problem, tree_problem])
def test_a_large_beta_is_nearly_the_hinge(make):
    """max ≤ (1/β) log Σ exp(β ·) ≤ max + (log |Y|)/β: so do the optima, C times as much for each example."""
    problem, C, beta = make(4, n_examples=8), 0.05, 20.0
    _, hinge = fit(Sap(C=C, rho1=0, rho2=1, tolerance=1e-4), problem, max_epochs=2000)
    _, smooth = fit(Lbfgs(C=C, beta=beta, gamma=1, tolerance=1e-4), problem, max_epochs=200)
    assert smooth.relative_gap <= 1e-4
    most = C * sum(math.log(len(losses)) for losses in family(problem, beta, 1.0).losses) / beta
    assert hinge.dual <= smooth.primal and smooth.dual <= hinge.primal + most


def test_what_is_forgotten_stays_in_w():
    """From there on the regulariser is ½‖w − w₀‖², which has no certificate of the whole."""
    problem, known = with_family("indicators", (1.0, 0.0))
    learner, _ = fit(Lbfgs(C=0.5, gamma=0), random_problem(7, n_examples=20, n_rows=8), max_epochs=10)
    w0 = learner.w.copy()
    learner.change(learner.problem, np.arange(20), subtracts=False)
    assert learner.progress()[1:3] == (None, None) and not learner.done()
    learner.change(problem)
    for seed in range(10):
        run_epoch(learner, np.random.default_rng(seed), np.arange(20))
    assert learner.certificate() is None and not learner.done()
    _, gradient = known.primal(learner.w, 0.5)
    assert np.abs(gradient - w0).max() < 1e-4 < np.abs(w0).max()
    assert learner.progress()[1:3] == (None, None)


def test_without_scipy_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="L-BFGS needs SciPy: pip install scipy"):
        start(Lbfgs(), random_problem(0))


def features_and_tags(number):
    """Features and shortened XPOS of the first sentences of EWT."""
    for words, tags in tagged("train", number):
        padded = ["<s>", *words, "</s>"]
        around = zip(padded, words, padded[2:])
        features = [[f"w={word}", f"s={word[-2:]}", f"b={left}", f"a={right}"] for left, word, right in around]
        yield features, [tag[:1] for tag in tags]


@needs_ewt
def test_crfsuites_optimum():
    """Its objective Σ −log P + c₂‖w‖² with c₂ = 1/(2C) is ours over C, at β = 1 and γ = 0."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    C, data = 0.5, [*features_and_tags(100)]
    labels = sorted({tag for _, tags in data for tag in tags})
    rows = {name: row for row, name in enumerate(dict.fromkeys(f for fs, _ in data for token in fs for f in token))}
    tokens = [token for features, _ in data for token in features]
    chains = make_chains(
        np.cumsum([0, *(len(tags) for _, tags in data)]),
        np.cumsum([0, *map(len, tokens)]),
        np.array([rows[feature] for token in tokens for feature in token]),
        np.array([labels.index(tag) for _, tags in data for tag in tags]),
        unconstrained(len(labels)),
    )
    problem = chain_problem(chains, len(rows))
    parameters = Lbfgs(C=C, beta=1, gamma=0, tolerance=1e-5, iterations=50)
    _, certificate = fit(parameters, problem, max_epochs=20)
    assert certificate.relative_gap <= 1e-5

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {"c1": 0, "c2": 1 / (2 * C), "max_iterations": 1000, "epsilon": 1e-6, "delta": 1e-8}
        | {"feature.possible_states": True, "feature.possible_transitions": True}
    )
    for features, tags in data:
        trainer.append(features, tags)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder) / "model"))
        info = tagger.info()
        tagger.close()
    L, number = len(labels), {label: place for place, label in enumerate(labels)}
    theirs = np.zeros(problem.dimension)
    for (before, after), weight in info.transitions.items():
        theirs[number[before] * L + number[after]] = weight
    for (feature, label), weight in info.state_features.items():
        theirs[L * L + rows[feature] * L + number[label]] = weight

    found = theirs @ theirs / 2 + C * sum_losses(problem, theirs, parameters.beta, parameters.gamma).value
    assert found == pytest.approx(C * trainer.logparser.last_iteration["loss"], rel=1e-6)
    assert certificate.dual <= found == pytest.approx(certificate.primal, rel=1e-4)
