"""What a user gets wrong is said in one sentence that names the component and the key."""

import math
from dataclasses import replace

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from .test_spacy_train import config
from .toy import EXAMPLES, LABELLED, LANG, SEQUENCES, blank, doc, tagger_examples, templates

every = pytest.mark.parametrize("factory", EXAMPLES)
labelled = pytest.mark.parametrize("factory", LABELLED)
sequences = pytest.mark.parametrize("factory", SEQUENCES)


@every
@pytest.mark.parametrize("examples", [[], ["text"], None, [None]])
def test_initialize_without_examples(factory, examples):
    nlp = blank(factory)
    with pytest.raises((ValueError, TypeError), match=rf"\[{factory}\]|Ssvm\w+\.initialize"):
        nlp.get_pipe(factory).initialize(lambda: examples)


@every
def test_get_examples_must_be_a_function(factory):
    nlp = blank(factory)
    with pytest.raises(TypeError, match=rf"\[{factory}\] initialize takes a function"):
        nlp.get_pipe(factory).initialize(EXAMPLES[factory](nlp))


@labelled
def test_a_corpus_without_annotation(factory):
    nlp = blank(factory)
    bare = [Example(doc(nlp, "No labels here"), doc(nlp, "No labels here"))]
    with pytest.raises(ValueError, match=rf"\[{factory}\] none of the 1 training examples .*\.{factory}\.labels"):
        nlp.initialize(lambda: bare)


@labelled
def test_a_corpus_of_empty_docs(factory):
    nlp = blank(factory)
    with pytest.raises(ValueError, match=rf"\[{factory}\]"):
        nlp.initialize(lambda: [Example(Doc(nlp.vocab), Doc(nlp.vocab))])


@labelled
def test_predicting_without_labels(factory):
    nlp = blank(factory)
    with pytest.raises(ValueError, match=rf"\[{factory}\] has no labels yet"):
        nlp("text")


@every
def test_update_takes_examples(factory):
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    with pytest.raises(TypeError, match="update"):
        nlp.get_pipe(factory).update([nlp("text")])


@sequences
@pytest.mark.parametrize("cost", [math.nan, math.inf, -1.0])
def test_label_costs(factory, cost):
    component = blank(factory).get_pipe(factory)
    with pytest.raises(ValueError, match=rf'\[{factory}\] label_costs: the cost of "O" must be finite'):
        replace(component.codec, label_costs={"O": cost})


@sequences
@pytest.mark.parametrize("cost", [-1.0, "much", None])
def test_label_costs_in_a_config(factory, cost):
    with pytest.raises(ValueError, match="label_costs"):
        spacy.blank(LANG).add_pipe(factory, config={"label_costs": {"O": cost}})


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner"])
@pytest.mark.parametrize("cost", ["0.5", 2])
def test_label_costs_may_be_written_as_numbers_are_in_configs(factory, cost):
    nlp = spacy.blank(LANG)
    component = nlp.add_pipe(factory, config={"label_costs": {"O": cost}})
    assert component.codec.label_costs == {"O": float(cost)}


def test_label_costs_of_unknown_labels_are_reported():
    """A misspelt label would otherwise go unnoticed."""
    nlp = blank("ssvm_tagger", label_costs={"NOUM": 2.0})
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] label_costs .*NOUM"):
        nlp.initialize(lambda: tagger_examples(nlp))


def test_attr():
    with pytest.raises(ValueError, match=r'\[ssvm_tagger\] attr must be "tag" or "pos", not \'lemma\''):
        spacy.blank(LANG).add_pipe("ssvm_tagger", config={"attr": "lemma"})


@every
def test_unknown_settings(factory):
    with pytest.raises(ValueError, match="dropout"):
        spacy.blank(LANG).add_pipe(factory, config={"dropout": 0.1})
    with pytest.raises(ValueError, match="learn_rate"):
        blank(factory, solver_settings={"learn_rate": 0.1})
    with pytest.raises(ValueError, match=r"spacy-ssvm\.Adam\.v1"):
        blank(factory, solver="Adam")
    for C in (0, -1, math.nan, math.inf, "x"):
        with pytest.raises(ValueError, match=r"\bC\b"):
            blank(factory, solver_settings={"C": C})


@every
def test_a_model_of_another_kind(factory):
    """An architecture of spaCy's own is refused when the pipeline is built, not deep inside training."""
    model = {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "width": 8,
        "depth": 1,
        "embed_size": 8,
        "pretrained_vectors": None,
    }
    model |= {"window_size": 1, "maxout_pieces": 2, "subword_features": True}
    with pytest.raises(ValueError, match=rf"\[{factory}\].*spacy-ssvm\.(Chain|Tree)\.v1"):
        blank(factory, model=model)


@sequences
def test_values_that_are_not_finite_name_the_token(factory):
    nlp = blank(factory, model=templates("_.reading[0]"))
    from spacy.tokens import Token

    Token.set_extension("reading", getter=lambda token: math.nan if token.text == "ham" else 1.0, force=True)
    try:
        with pytest.raises(ValueError, match=r'token 2 \("ham"\).*_\.reading has a value that is not finite'):
            nlp.initialize(lambda: EXAMPLES[factory](nlp, [("Eat blue ham", "O O U-FOOD")]))
    finally:
        Token.remove_extension("reading")


@every
def test_spacy_train_on_an_empty_corpus(factory, tmp_path):
    DocBin().to_disk(tmp_path / "empty.spacy")
    with pytest.raises((ValueError, TypeError), match="initialize"):
        train(config(factory, tmp_path / "empty.spacy", tmp_path), tmp_path / "out")


@labelled
def test_spacy_train_on_a_corpus_without_labels(factory, tmp_path):
    nlp = spacy.blank(LANG)
    DocBin(docs=[doc(nlp, "No labels here")]).to_disk(tmp_path / "bare.spacy")
    with pytest.raises(ValueError, match=rf"\[{factory}\] none of the 1 training examples"):
        train(config(factory, tmp_path / "bare.spacy", tmp_path), tmp_path / "out")
