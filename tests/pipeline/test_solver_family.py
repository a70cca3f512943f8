"""Every solver that is registered trains sequences and trees, is saved, goes on, and follows a stream."""

import pytest
from spacy.util import minibatch

from spacy_ssvm.training import training as training_module

from .components import LABELS, SCORE, assert_certified, every
from .toy import (
    ALL_SOLVERS,
    EXAMPLES,
    NEARLY_UNREGULARISED,
    annotations,
    blank,
    parser_examples,
    templates,
    train,
    trained,
    tree_of,
)

EPOCHS = {"LSE": 20, "OneSlack": 40, "LSECuttingPlane": 40, "PredictionMIRA": 15, "ProjectedSubgradient": 60, "SAP": 25}
CERTIFIED = {"CPD", "DCD", "DCDLight", "ExponentiatedGradient", "FrankWolfe", "LBFGS", "OneSlack", "SAP", "SDM"}
FORGETFUL = {"Extragradient"}
"""Without its working sets it knows the newest batch only."""


def settings_of(solver, factory):
    model = {"model": tree_of("projective", 1)} if factory == "ssvm_parser" else {}
    return {"solver": solver, "solver_settings": NEARLY_UNREGULARISED[solver], **model}


def check(nlp, factory, solver):
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1.0
    certificate = nlp.get_pipe(factory).certificate()
    assert (certificate is not None) == (solver in CERTIFIED)
    assert certificate is None or certificate.gap >= -1e-9 * max(1.0, certificate.primal)
    return certificate


@every
@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_every_solver_is_saved_learns_on_after_loading_and_learns_a_few_examples(factory, solver):
    settings, epochs = {**settings_of(solver, factory), "corrections": False}, EPOCHS.get(solver, 10)
    nlp = trained(factory, 2, **settings)
    loaded = blank(factory, **settings).from_bytes(nlp.to_bytes())
    assert annotations(loaded) == annotations(nlp)
    train(loaded, EXAMPLES[factory](loaded), epochs)
    certificate = check(loaded, factory, solver)
    assert certificate is None or 0 <= certificate.relative_gap < 1


@every
@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_examples_may_be_added_and_may_change(factory, solver):
    nlp = blank(factory, **settings_of(solver, factory))
    examples = EXAMPLES[factory](nlp)
    nlp.get_pipe(factory).initialize(lambda: examples[:3], nlp=nlp, labels=list(LABELS[factory]))
    train(nlp, examples[:3], 2)
    for _ in range(EPOCHS.get(solver, 10)):
        for batch in minibatch(examples, 2):
            nlp.update(batch, sgd=False)
    assert len(nlp.get_pipe(factory).trained.training) == len(examples)
    if solver in CERTIFIED:
        assert_certified(nlp, factory)
    assert nlp.evaluate(examples)[SCORE[factory]] == 1.0


CHAIN = ("bias", "lower[0]", "lower_prefix3[0]")
STREAMS = {
    "sequences": ("ssvm_tagger", "DET NOUN VERB ADJ NOUN", templates(*CHAIN)),
    "hashed": ("ssvm_tagger", "DET NOUN VERB ADJ NOUN", templates(*CHAIN, hash_bits=8)),
    "trees": ("ssvm_parser", "det:2 nsubj:3 ROOT:3 amod:5 obj:3", tree_of("projective", 1)),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("solver", sorted({*ALL_SOLVERS} - FORGETFUL))
def test_a_stream_that_never_repeats_goes_online(kind, solver, monkeypatch):
    """One warning, working sets and data that do not grow, and learning that goes on."""
    monkeypatch.setattr(training_module, "MAX_NEW", 20)
    factory, gold, model = STREAMS[kind]
    nlp = blank(factory, **{**settings_of(solver, factory), "model": model})
    stream, sizes, dimensions = [(f"the noun{i} eats adj{i} ham", gold) for i in range(80)], [], set()
    nlp.initialize(lambda: EXAMPLES[factory](nlp, stream[:3]))
    with pytest.warns(UserWarning) as caught:
        for batch in minibatch(stream[3:], 4):
            nlp.update(EXAMPLES[factory](nlp, batch), sgd=False)
            training = nlp.get_pipe(factory).trained.training
            figures = nlp.get_pipe(factory).figures
            sizes.append((len(training), figures.planes or 0 if figures else 0))
            dimensions.add(len(training.weights()))
    (said,) = (str(warning.message) for warning in caught if "as an online learner" in str(warning.message))
    assert said.startswith(f"[{factory}]")
    assert all(examples <= 4 and planes <= 16 for examples, planes in sizes[8:])
    assert (len(dimensions) == 1) == (kind != "sequences")
    assert nlp.evaluate(EXAMPLES[factory](nlp, stream))[SCORE[factory]] > 0.7
    assert nlp.get_pipe(factory).certificate() is None


@pytest.mark.parametrize(
    ("solver", "settings", "missing"),
    [
        ("DCA", {}, "exact marginals"),
        ("ExponentiatedGradient", {}, "exact marginals"),
        ("LBFGS", {}, "exact marginals"),
        ("SGD", {"beta": 1}, "exact marginals"),
        ("LSE", {}, "k best structures"),
        ("LSECuttingPlane", {}, "k best structures"),
        ("MIRA", {"k": 2}, "k best structures"),
        ("PredictionMIRA", {"k": 2}, "k best structures"),
    ],
)
def test_what_a_structure_does_not_offer_is_refused_before_training(solver, settings, missing):
    nlp = blank("ssvm_parser", solver=solver, solver_settings=settings, model=tree_of("projective", 2))
    with pytest.raises(ValueError, match=rf"\[ssvm_parser\] this solver needs .*{missing}.* order = 1"):
        nlp.initialize(lambda: parser_examples(nlp))
