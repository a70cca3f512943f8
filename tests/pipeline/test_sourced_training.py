"""`spacy train` with a component that comes from a trained pipeline: it is not initialized, but learns on."""

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config

from .test_spacy_train import SCORES, config
from .toy import EXAMPLES, LANG

every = pytest.mark.parametrize("factory", EXAMPLES)


def corpus(factory, folder, **texts):
    nlp = spacy.blank(LANG)
    path = folder / f"{factory}.spacy"
    DocBin(docs=[example.reference for example in EXAMPLES[factory](nlp, **texts)]).to_disk(path)
    return path


def trained_on(factory, path, folder, epochs, source=None, **overrides):
    folder.mkdir()
    written = config(factory, path, folder, **{"training.max_epochs": epochs})
    whole = load_config(written)
    whole["components"][factory]["save_solver_state"] = True
    if source is not None:
        whole["components"][factory] = {"source": str(source)}
    for block, value in overrides.items():
        whole["initialize"]["components"] = {factory: {block: value}}
    whole.to_disk(written)
    train(written, folder / "out")
    return folder / "out" / "model-last"


def files(folder, factory):
    return {name: (folder / factory / name).read_bytes() for name in ("cfg", "model", "state")}


@every
def test_two_runs_equal_one(factory, tmp_path):
    path = corpus(factory, tmp_path)
    first = trained_on(factory, path, tmp_path / "first", 2)
    second = trained_on(factory, path, tmp_path / "second", 3, source=first)
    assert files(second, factory) == files(trained_on(factory, path, tmp_path / "once", 5), factory)


def test_new_labels_and_a_block_for_initialization(tmp_path):
    """The block is spaCy's to pass over; labels of the new corpus are learnt, and the old ones are not forgotten."""
    first = trained_on("ssvm_tagger", corpus("ssvm_tagger", tmp_path), tmp_path / "first", 10)
    (tmp_path / "new").mkdir()
    path = corpus("ssvm_tagger", tmp_path / "new", corpus=[("Wow , ham !", "INTJ PUNCT NOUN PUNCT")])
    with pytest.warns(UserWarning, match="there are new labels"):
        second = trained_on("ssvm_tagger", path, tmp_path / "second", 3, source=first, labels=["NOUN"])
    nlp = spacy.load(second)
    assert {"INTJ", "PUNCT", "DET"} <= set(nlp.get_pipe("ssvm_tagger").labels)
    new = EXAMPLES["ssvm_tagger"](nlp, [("Wow , ham !", "INTJ PUNCT NOUN PUNCT")])
    assert nlp.evaluate(new)[SCORES["ssvm_tagger"]] == 1.0
    assert nlp.evaluate(EXAMPLES["ssvm_tagger"](nlp))[SCORES["ssvm_tagger"]] > 0.9


def test_another_c(tmp_path):
    """What a sourced component is to do differently is said when it is loaded."""
    first = trained_on("ssvm_tagger", corpus("ssvm_tagger", tmp_path), tmp_path / "first", 2)
    spacy.load(first, config={"components.ssvm_tagger.solver.C": 0.02}).to_disk(tmp_path / "changed")
    assert spacy.load(tmp_path / "changed").get_pipe("ssvm_tagger").solver.C == 0.02
