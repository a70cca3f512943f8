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
    tree_of,
)

EPOCHS = {"LSE": 20, "OneSlack": 40, "LSECuttingPlane": 40, "PredictionMIRA": 15, "ProjectedSubgradient": 60, "SAP": 25}
CERTIFIED = {"CPD", "DCD", "DCDLight", "ExponentiatedGradient", "FrankWolfe", "LBFGS", "OneSlack", "SAP", "SDM"}
FORGETFUL = {"Extragradient"}
"""Without its working sets it knows the newest batch only."""


def settings_of(solver, factory):
    model = {"model": tree_of("projective", 1)} if factory == "ssvm_parser" else {}
    return {"solver": solver, "solver_settings": NEARLY_UNREGULARISED[solver], **model}


@every
@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_every_solver_is_saved_and_learns_on_after_loading_from_examples_that_are_added(factory, solver):
    settings = {**settings_of(solver, factory), "corrections": False}
    nlp, loaded = blank(factory, **settings), blank(factory, **settings)
    few = EXAMPLES[factory](nlp)[:3]
    nlp.get_pipe(factory).initialize(lambda: few, nlp=nlp, labels=list(LABELS[factory]))
    train(nlp, few, 2)
    loaded.from_bytes(nlp.to_bytes())
    assert annotations(loaded) == annotations(nlp)
    examples, pipe = EXAMPLES[factory](loaded), loaded.get_pipe(factory)
    for known in (examples[:3], *[examples] * EPOCHS.get(solver, 10)):
        for batch in minibatch(known, 2):
            loaded.update(batch, sgd=False)
    assert len(pipe.trained.training) == len(examples)
    assert (pipe.certificate() is not None) == (solver in CERTIFIED)
    if solver in CERTIFIED:
        assert_certified(loaded, factory)
        assert 0 <= pipe.certificate().relative_gap < 1
    assert loaded.evaluate(examples)[SCORE[factory]] == 1.0


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
    settings = settings_of(solver, factory)
    if solver == "ExponentiatedGradient":
        # With a large C, the only visit to an example moves its distribution, which begins as gold alone, too little.
        settings["solver_settings"] = {"C": 0.1}
    nlp = blank(factory, **{**settings, "model": model})
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
