"""Every solver that is registered trains sequences and trees, is saved, goes on, and follows a stream."""

import pytest
import spacy
from spacy.util import minibatch

from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.training import training as training_module

from .toy import EXAMPLES, annotations, blank, parser_examples, tagger_examples, train, trained, tree_of

SOLVERS = sorted(name.split(".")[1] for name in ssvm_solvers.get_all())
SETTINGS = {
    "DCA": {"C": 10.0},
    "LSE": {"C": 1.0},
    "LSECuttingPlane": {"C": 1.0},
    "Perceptron": {},
    "PredictionMIRA": {},
    "ProjectedSubgradient": {"epsilon": 1000.0},
    "SAP": {"C": 10.0, "rho1": 0.1},
}
"""Where it is not C = 10: all are nearly unregularised."""
EPOCHS = {"LSE": 20, "OneSlack": 40, "LSECuttingPlane": 40, "PredictionMIRA": 15, "ProjectedSubgradient": 60, "SAP": 25}
SCORES = {"ssvm_tagger": "tag_acc", "ssvm_ner": "ents_f", "ssvm_senter": "sents_f", "ssvm_parser": "las"}
CERTIFIED = {"CPD", "DCD", "DCDLight", "FrankWolfe", "LBFGS", "OneSlack", "SAP", "SDM"}
FORGETFUL = {"Extragradient"}
"""Without its working sets it knows the newest batch only."""
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_component = pytest.mark.parametrize("factory", SCORES)


def settings_of(solver, factory):
    model = {"model": tree_of("projective", 1)} if factory == "ssvm_parser" else {}
    return {"solver": solver, "solver_settings": SETTINGS.get(solver, {"C": 10.0}), **model}


@every_component
@every_solver
def test_every_solver_learns_a_few_examples_and_is_saved(factory, solver, tmp_path):
    nlp = trained(factory, EPOCHS.get(solver, 10), **settings_of(solver, factory))
    examples = EXAMPLES[factory](nlp)
    assert nlp.evaluate(examples)[SCORES[factory]] == 1.0
    certificate = nlp.get_pipe(factory).certificate()
    assert (certificate is not None) == (solver in CERTIFIED)
    assert certificate is None or 0 <= certificate.relative_gap < 1
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert annotations(loaded) == annotations(nlp)
    train(loaded, examples, EPOCHS.get(solver, 10))
    assert loaded.evaluate(examples)[SCORES[factory]] == 1.0
    certificate = loaded.get_pipe(factory).certificate()
    assert (certificate is not None) == (solver in CERTIFIED)
    assert certificate is None or certificate.gap >= -1e-9 * max(1.0, certificate.primal)


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_parser"])
@every_solver
def test_examples_may_be_added_and_may_change(factory, solver):
    nlp = blank(factory, **settings_of(solver, factory))
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples[:3])
    train(nlp, examples[:3], 2)
    for _ in range(EPOCHS.get(solver, 10)):
        for batch in minibatch(examples, 2):
            nlp.update(batch, sgd=False)
    assert nlp.evaluate(examples)[SCORES[factory]] == 1.0


@pytest.mark.parametrize("solver", sorted({*SOLVERS} - FORGETFUL))
def test_a_stream_that_never_repeats_goes_online(solver, monkeypatch):
    monkeypatch.setattr(training_module, "MAX_NEW", 20)
    nlp = blank("ssvm_tagger", **settings_of(solver, "ssvm_tagger"))
    stream = [(f"the noun{i} eats adj{i} ham", "DET NOUN VERB ADJ NOUN") for i in range(60)]
    nlp.initialize(lambda: tagger_examples(nlp, stream[:3]))
    with pytest.warns(UserWarning, match="as an online learner"):
        for batch in minibatch(stream[3:], 4):
            nlp.update(tagger_examples(nlp, batch), sgd=False)
    assert nlp.evaluate(tagger_examples(nlp, stream))["tag_acc"] > 0.7
    assert nlp.get_pipe("ssvm_tagger").certificate() is None


@pytest.mark.parametrize(
    ("solver", "settings", "missing"),
    [
        ("DCA", {}, "exact marginals"),
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
