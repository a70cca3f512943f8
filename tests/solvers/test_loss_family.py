"""DCA and SGD on the losses L_{β,γ}: step for step against plain Python, and the identities of the family."""

import math

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.util import load_config_from_str, load_model_from_config

from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.solvers.dca import Dca
from spacy_ssvm.solvers.lbfgs import Lbfgs
from spacy_ssvm.solvers.learner import fit, start
from spacy_ssvm.solvers.mira import Mira
from spacy_ssvm.solvers.sgd import CANDIDATES, Sgd

from ..models.chain.enumeration import tiny_chains
from ..problems import random_problem, without_features
from . import family_reference as reference
from .family_reference import PROBLEMS, family, family_of, problem_of
from .running import check_steps, visits

INF = math.inf
MEMBERS = {"CRF": (1.0, 0.0), "softmax-margin": (1.0, 1.0), "SSVM": (INF, 1.0)}
OTHERS = {"sharp": (4.0, 0.5), "flat": (0.25, 2.0), "large margin": (INF, 2.0)}
ALL = {**MEMBERS, **OTHERS}


@pytest.mark.parametrize("member", ALL)
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("C", [1 / 64, 100.0])
def test_dca(kind, member, C):
    """The smaller C caps most steps, the larger none. Trees start where no two of them have equal scores."""
    problem, (beta, gamma) = problem_of(kind), ALL[member]
    w = np.zeros(problem.dimension)
    if kind.endswith("trees"):
        w = np.random.default_rng(3).normal(size=problem.dimension)
    examples, known = visits(problem, epochs=2), family_of(kind, beta, gamma)
    learner = start(Dca(C=C, beta=beta, gamma=gamma), problem, w)
    check_steps(learner, examples, reference.dca(known, examples, w, C), averaged=True)
    suffered, now = 0.0, w
    for example, following in zip(examples, reference.dca(known, examples, w, C), strict=True):
        suffered += known.loss(example, now)[0]
        now = following
    assert learner.progress() == (pytest.approx(suffered, rel=1e-9), None, None, None, None)
    assert learner.certificate() is None


@pytest.mark.parametrize("size", [300.0, 3000.0])
@pytest.mark.parametrize("member", ["CRF", "softmax-margin"])
@pytest.mark.parametrize("kind", ["projective trees", "spanning trees"])
def test_dca_where_scores_of_trees_are_far_apart(kind, member, size):
    """Where a float64 holds no sum of exp, a sentence would seem to have no tree, and so no loss, or weights be nan."""
    problem, (beta, gamma) = problem_of(kind), ALL[member]
    w = np.random.default_rng(3).normal(size=problem.dimension) * size
    examples, known = visits(problem, epochs=1), family_of(kind, beta, gamma)
    learner = start(Dca(C=1.0, beta=beta, gamma=gamma), problem, w)
    total = np.zeros_like(w)
    for visit, (example, expected) in enumerate(zip(examples, reference.dca(known, examples, w, 1.0)), 1):
        before = learner.progress().loss
        loss = known.loss(example, learner.w)[0]
        learner.visit(np.array([example]))
        assert learner.progress().loss - before == pytest.approx(loss, rel=1e-9, abs=1e-9 * size)
        total += expected
        np.testing.assert_allclose(learner.prediction_weights(), total / visit, rtol=0, atol=1e-9 * size)
    assert learner.progress().loss > size


@pytest.mark.parametrize("member", ALL)
@pytest.mark.parametrize("schedule", ["bottou", "printed", "epochs"])
@pytest.mark.parametrize(("kind", "C"), [("indicators", 2.0), ("real values", 0.5), ("real values", 0.1)])
def test_sgd(kind, C, member, schedule):
    problem, (beta, gamma) = problem_of(kind), ALL[member]
    w, eta0 = np.zeros(problem.dimension), 0.25
    learner = start(Sgd(C=C, beta=beta, gamma=gamma, eta0=eta0, schedule=schedule), problem)
    examples, known = visits(problem), family_of(kind, beta, gamma)
    check_steps(learner, examples, reference.sgd(known, examples, w, C, eta0, schedule), averaged=False)


def test_sgd_on_trees():
    problem, w = problem_of("projective trees"), np.zeros(problem_of("projective trees").dimension)
    learner, examples = start(Sgd(beta=1, gamma=1, eta0=0.25), problem), visits(problem)
    known = family_of("projective trees", 1.0, 1.0)
    check_steps(learner, examples, reference.sgd(known, examples, w, 0.1, 0.25, "bottou"), averaged=False)


@pytest.mark.parametrize("member", MEMBERS)
def test_sgd_shrinks_far_below_one_without_losing_digits(member):
    """w = scale · v with a scale that would reach 1e-11 if v did not take it over: β of v falls as far."""
    problem = random_problem(3, n_labels=2, max_length=2, n_rows=4, real=True, n_examples=12)
    (beta, gamma), C, eta0, n = MEMBERS[member], 0.05, 0.5, 12
    examples = visits(problem, epochs=150)
    *_, w = reference.sgd(family(problem, beta, gamma), examples, np.zeros(problem.dimension), C, eta0, "bottou")
    learner = start(Sgd(C=C, beta=beta, gamma=gamma, eta0=eta0), problem)
    learner.visit(examples)
    shrinkage = np.prod(1 - eta0 / (1 + eta0 * np.arange(len(examples)) / (C * n)) ** 0.75 / (C * n))
    assert shrinkage < 1e-9 < learner.scale
    np.testing.assert_allclose(learner.prediction_weights(), w, rtol=0, atol=1e-7)


@pytest.mark.parametrize("member", ALL)
@pytest.mark.parametrize(("C", "schedule"), [(0.02, "bottou"), (3.0, "bottou"), (0.3, "epochs")])
def test_sgd_selects_the_learning_rate_of_lowest_primal(member, C, schedule):
    problem, (beta, gamma) = problem_of("real values"), ALL[member]
    learner = start(Sgd(C=C, beta=beta, gamma=gamma, schedule=schedule), problem)
    learner.begin_epoch(np.random.default_rng(11))
    sample = np.random.default_rng(11).permutation(problem.n_examples)
    known, primals = family_of("real values", beta, gamma), {}
    for eta0 in CANDIDATES:
        if eta0 < C * problem.n_examples:
            *_, w = reference.sgd(known, sample, np.zeros(problem.dimension), C, eta0, schedule)
            primals[eta0] = known.primal(w, C)[0]
    assert learner.eta0 == min(primals, key=primals.get)
    assert not learner.w.any(), "the selection leaves the weights alone"


@given(tiny_chains(), st.sampled_from([1 / 64, 0.1, 1.0, 100.0]), st.booleans())
def test_dca_at_infinite_beta_is_mira(tiny, C, zero):
    """Ties, empty sequences, planes of zero norm and costs of zero among them; from w = 0, where all is tied."""
    weights = np.zeros_like(tiny.weights) if zero else tiny.weights
    problem = chain_problem(tiny.chains, tiny.n_rows)
    mira, dca = start(Mira(C=C), problem, weights), start(Dca(C=C, beta=INF, gamma=1), problem, weights)
    for example in visits(problem):
        for learner in (mira, dca):
            learner.visit(np.array([example]))
        np.testing.assert_array_equal(mira.w, dca.w)
    np.testing.assert_array_equal(mira.prediction_weights(), dca.prediction_weights())
    assert mira.progress() == dca.progress()


SOLVERS = [
    Dca(C=0.5),
    Dca(C=0.5, beta="inf", gamma=2),
    Sgd(C=0.5, beta=1, gamma=0, eta0=0.25),
    Sgd(C=0.5, beta="inf", gamma=2, eta0=0.25),
    Lbfgs(C=0.5),
    Lbfgs(C=0.5, beta=2, gamma=0),
]


@pytest.mark.parametrize("parameters", SOLVERS)
@pytest.mark.parametrize("n_examples", [0, 7])
def test_nothing_to_learn(parameters, n_examples):
    """The loss where there is no example at all, or where ΔΦ vanishes whatever the class."""
    problem = without_features() if n_examples else random_problem(0, n_examples=0)
    learner, _ = fit(parameters, problem, max_epochs=2)
    beta, gamma = parameters.beta, parameters.gamma
    value = gamma if beta == INF else math.log(1 + math.exp(beta * gamma)) / beta
    assert learner.progress().loss == pytest.approx(n_examples * value, rel=1e-12)


@pytest.mark.parametrize(("line", "beta"), [("", INF), ('beta = "inf"', INF), ("beta = inf", INF), ("beta = 2", 2.0)])
def test_infinity_survives_a_config(line, beta, tmp_path):
    """spaCy fills in defaults and writes them as JSON, which has no infinity."""
    text = f"""
[nlp]
lang = "en"
pipeline = ["it"]
[components]
[components.it]
factory = "ssvm_tagger"
[components.it.solver]
@ssvm_solvers = "spacy-ssvm.SGD.v1"
{line}
"""
    nlp = load_model_from_config(load_config_from_str(text), auto_fill=True)
    nlp.to_disk(tmp_path)
    assert nlp.get_pipe("it").solver.beta == spacy.load(tmp_path).get_pipe("it").solver.beta == beta
