"""Labels: where they come from, how they are added, how they travel."""

import warnings

import pytest
import spacy
import srsly
from spacy.training import Example

from .components import COMPONENTS, LABELS, NEW_LABEL, SCORE, every, labelled, learnt
from .toy import EXAMPLES, blank, doc, tagger_examples, teach, train, trained, weights


@every
@pytest.mark.parametrize("order", [1, -1])
def test_labels_are_found_in_the_examples_in_any_order(factory, order):
    nlp = blank(factory)
    component = nlp.get_pipe(factory)
    assert component.labels == (() if factory in NEW_LABEL else LABELS[factory])
    nlp.initialize(lambda: EXAMPLES[factory](nlp)[::order])
    assert component.labels == LABELS[factory]
    assert component.label_data == (LABELS[factory] if factory in NEW_LABEL else None)


@every
def test_label_data_is_json_and_gives_the_same_model(factory, tmp_path):
    """`init labels` writes it, and `spacy.read_labels.v1` brings it back."""
    models = []
    for given in (False, True):
        nlp = blank(factory)
        examples = EXAMPLES[factory](nlp)
        if given:
            nlp.config["initialize"]["components"][factory] = {
                "labels": {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "labels.json"), "require": True}
            }
        teach(nlp, examples, 3)
        srsly.write_json(tmp_path / "labels.json", nlp.get_pipe(factory).label_data)
        models.append(nlp.get_pipe(factory).to_bytes(exclude=["vocab", "cfg"]))
    assert models[0] == models[1]


@every
def test_given_labels_need_no_gold(factory):
    """As in training from a stream, of which `initialize` sees no annotation of some labels."""
    nlp = blank(factory)
    bare = [Example(doc(nlp, "No gold"), doc(nlp, "No gold"))]
    with pytest.warns(UserWarning, match=rf"\[{factory}\]"):
        nlp.get_pipe(factory).initialize(lambda: bare, nlp=nlp, labels=list(LABELS[factory]))
    assert len(nlp(doc(nlp, "Eat ham"))) == 2
    train(nlp, bare, 1)
    train(nlp, EXAMPLES[factory](nlp), 20)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
def test_what_are_no_labels_is_refused(factory):
    nlp = blank(factory)
    component = nlp.get_pipe(factory)
    before, known = component.labels, LABELS[factory][0]
    for labels in ({"0": {"NOUN": 3}}, "NOUN", 3):
        with pytest.raises(ValueError, match=rf"\[{factory}\] initialize: labels must be a list"):
            component.initialize(lambda: EXAMPLES[factory](nlp), nlp=nlp, labels=labels)
    for label in ("", 3, None, b"X", ["X"], "\ud800"):
        with pytest.raises(ValueError, match=rf"\[{factory}\] a label"):
            component.initialize(lambda: EXAMPLES[factory](nlp), nlp=nlp, labels=[known, label])
        with pytest.raises(ValueError if factory in NEW_LABEL else NotImplementedError, match=rf"\[{factory}\]"):
            component.add_label(label)
    assert component.labels == before


def test_given_labels_keep_their_order_and_may_be_more_than_the_corpus_has():
    nlp, given = blank("ssvm_tagger"), [*reversed(LABELS["ssvm_tagger"])]
    tagger = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(lambda: tagger_examples(nlp), nlp=nlp, labels=["X", *given, "X"])
    assert tagger.labels == ("X", *given)
    train(nlp, tagger_examples(nlp))
    assert nlp.evaluate(tagger_examples(nlp))["tag_acc"] == 1.0


@every
def test_pipe_labels_and_meta(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    shown = nlp.pipe_labels.get(factory)
    assert shown == (None if factory == "ssvm_senter" else list(component.labels))
    assert nlp.meta["labels"].get(factory) == shown


@labelled
def test_labels_of_a_memory_zone_stay(factory):
    """Its strings are freed at its end, but not those of labels."""
    nlp = learnt(factory)
    with nlp.memory_zone():
        nlp.get_pipe(factory).add_label(NEW_LABEL[factory])
    assert NEW_LABEL[factory] in nlp.vocab.strings
    loaded = blank(factory)
    with loaded.memory_zone():
        loaded.get_pipe(factory).from_bytes(weights(nlp, factory), exclude=["vocab"])
    assert NEW_LABEL[factory] in loaded.vocab.strings


@every
def test_initialize_again_starts_from_zero(factory):
    """It learns from the examples that it is given; labels of the first time stay."""
    nlp = trained(factory, 2)
    few, examples = EXAMPLES[factory](nlp, COMPONENTS[factory].corpus[:2]), EXAMPLES[factory](nlp)
    nlp.initialize(lambda: few)
    assert nlp.get_pipe(factory).labels == LABELS[factory]
    train(nlp, few)
    assert nlp.evaluate(few)[SCORE[factory]] == 1
    teach(nlp, examples)
    assert weights(nlp, factory) == weights(learnt(factory), factory)


@pytest.mark.parametrize("factory", [factory for factory in EXAMPLES if factory != "ssvm_lemmatizer"])
@pytest.mark.parametrize("preset", [False, True])
def test_initialize_without_examples_does_what_it_does_in_spacy(factory, preset):
    """Only a tagger cannot do without labels; the others find theirs in the first update, and learn nothing before."""
    ours, spacys = blank(factory), spacy.blank("xx")
    spacys.add_pipe(COMPONENTS[factory].spacys, name=factory)
    if preset and factory in NEW_LABEL:
        for nlp in (ours, spacys):
            assert nlp.get_pipe(factory).add_label(NEW_LABEL[factory]) == 1
    if factory in ("ssvm_tagger", "ssvm_morphologizer") and not preset:
        for nlp in (ours, spacys):
            with pytest.raises(ValueError, match=r"[Ll]abels"):
                nlp.initialize()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for nlp in (ours, spacys):
            nlp.initialize()
            if factory == "ssvm_ner":
                assert [token.ent_iob_ for token in nlp(doc(nlp, "Anna left"))] == ["O", "O"]
    component = ours.get_pipe(factory)
    assert component.figures is None and component.cfg["reads"] == []
    restored = blank(factory)
    restored.get_pipe(factory).from_bytes(component.to_bytes())
    for nlp in (ours, restored):
        examples = EXAMPLES[factory](nlp)
        train(nlp, examples, 20)
        expected = {*LABELS[factory], *([NEW_LABEL[factory]] if preset and factory in NEW_LABEL else [])}
        assert set(nlp.get_pipe(factory).labels) == expected
        assert nlp.evaluate(examples)[SCORE[factory]] == 1.0
