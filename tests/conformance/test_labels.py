"""Labels: where they come from, how they are added, how they travel."""

import pytest
import spacy
import srsly
from spacy.training import Example

from ..pipeline.toy import EXAMPLES, LABELLED, doc, train
from .components import CORPUS, LANG, NEW_LABEL, SCORE, annotated, blank, blank_config, every, learnt, model_bytes

labelled = pytest.mark.parametrize("factory", LABELLED)


def expected(factory):
    return {
        "ssvm_tagger": {"ADJ", "ADV", "DET", "NOUN", "PRON", "VERB"},
        "ssvm_ner": {"GPE", "PER"},
        "ssvm_senter": {"I", "S"},
        "ssvm_parser": {"ROOT", "amod", "case", "det", "nmod", "nsubj", "obj", "punct"},
    }[factory]


@every
def test_labels_are_found_in_the_examples(factory):
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    component = nlp.get_pipe(factory)
    assert isinstance(component.labels, tuple)
    assert set(component.labels) == expected(factory)


@every
def test_labels_do_not_depend_on_the_order_of_the_examples(factory):
    labels = []
    for order in (1, -1):
        nlp = blank(factory)
        examples = EXAMPLES[factory](nlp)[::order]
        nlp.initialize(lambda examples=examples: examples)
        labels.append(nlp.get_pipe(factory).labels)
    assert labels[0] == labels[1]


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
        nlp.initialize(lambda examples=examples: examples)
        srsly.write_json(tmp_path / "labels.json", nlp.get_pipe(factory).label_data)
        train(nlp, examples, 3)
        models.append(model_bytes(nlp, factory))
    assert models[0] == models[1]


@every
def test_given_labels_need_no_gold(factory):
    """As in training from a stream, of which `initialize` sees no annotation of some labels."""
    nlp = blank(factory)
    bare = [Example(doc(nlp, "No gold"), doc(nlp, "No gold"))]
    labels = sorted(expected(factory))
    with pytest.warns(UserWarning, match=rf"\[{factory}\]"):
        nlp.get_pipe(factory).initialize(lambda: bare, nlp=nlp, labels=labels)
    train(nlp, EXAMPLES[factory](nlp), 20)
    assert nlp.evaluate(EXAMPLES[factory](nlp))[SCORE[factory]] == 1


@every
@pytest.mark.parametrize("labels", [{"0": {"NOUN": 3}}, [3], [""], "NOUN", 3, [None]])
def test_what_are_no_labels_is_refused(factory, labels):
    nlp = blank(factory)
    with pytest.raises(ValueError, match=rf"\[{factory}\]"):
        nlp.get_pipe(factory).initialize(lambda: EXAMPLES[factory](nlp), nlp=nlp, labels=labels)


@every
@pytest.mark.parametrize("label", ["", 3, None, b"X", ["X"]])
def test_add_label_refuses_what_is_no_label(factory, label):
    component = blank(factory).get_pipe(factory)
    before = component.labels
    with pytest.raises(ValueError, match=rf"\[{factory}\]"):
        component.add_label(label)
    assert component.labels == before


@labelled
def test_a_label_is_added_once(factory):
    component = blank(factory).get_pipe(factory)
    assert component.add_label("X") == 1
    assert component.add_label("X") == 0
    assert component.labels == ("X",)
    assert "X" in component.vocab.strings


@labelled
def test_labels_added_before_initialize_stay(factory):
    nlp = blank(factory)
    nlp.get_pipe(factory).add_label(NEW_LABEL[factory])
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    assert set(nlp.get_pipe(factory).labels) == expected(factory) | {NEW_LABEL[factory]}
    train(nlp, EXAMPLES[factory](nlp), 3)


@labelled
@pytest.mark.parametrize("after", ["initialize", "update", "load"])
def test_labels_can_be_added_at_any_time(factory, after):
    if after == "load":
        nlp = learnt(factory)
    else:
        nlp = blank(factory)
        nlp.initialize(lambda: EXAMPLES[factory](nlp))
        train(nlp, EXAMPLES[factory](nlp), 10 * (after == "update"))
    before = annotated(nlp) if after != "initialize" else None
    assert nlp.get_pipe(factory).add_label(NEW_LABEL[factory]) == 1
    if after == "load" and factory == "ssvm_tagger":
        assert annotated(nlp) == before
    train(nlp, EXAMPLES[factory](nlp), 15)
    examples = EXAMPLES[factory](nlp)
    assert nlp.get_pipe(factory).labels[-1] == NEW_LABEL[factory]
    assert nlp.evaluate(examples)[SCORE[factory]] == 1


@labelled
def test_a_component_with_labels_only_can_predict(factory):
    """As spaCy evaluates after the first update, weights may be zero."""
    nlp = blank(factory)
    nlp.get_pipe(factory).add_label("X")
    assert len(nlp("Some text here .")) == 4


@every
def test_pipe_labels_and_meta(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    shown = nlp.pipe_labels.get(factory)
    assert shown == (None if factory == "ssvm_senter" else list(component.labels))
    assert nlp.meta["labels"].get(factory) == shown


@every
def test_initialize_twice(factory):
    """The second time learns from its own examples; labels of the first stay."""
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    train(nlp, EXAMPLES[factory](nlp), 2)
    labels = nlp.get_pipe(factory).labels
    few = EXAMPLES[factory](nlp, CORPUS[factory][:2])
    nlp.initialize(lambda: few)
    assert nlp.get_pipe(factory).labels == labels
    train(nlp, few, 10)
    assert nlp.evaluate(few)[SCORE[factory]] == 1


@every
def test_labels_are_known_to_another_vocabulary(factory):
    """A component without its strings, as spaCy saves it in a pipeline, brings the strings of its labels."""
    source = learnt(factory).get_pipe(factory)
    nlp = spacy.blank(LANG)
    component = nlp.create_pipe(factory, config=blank_config(factory))
    component.from_bytes(source.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert component.labels == source.labels
    assert all(label in nlp.vocab.strings for label in source.labels)


@labelled
def test_labels_of_a_memory_zone_stay(factory):
    """Its strings are freed at its end, but not those of labels."""
    nlp = learnt(factory)
    with nlp.memory_zone():
        nlp.get_pipe(factory).add_label("persistent")
    assert "persistent" in nlp.vocab.strings
    loaded = blank(factory)
    with loaded.memory_zone():
        loaded.get_pipe(factory).from_bytes(model_bytes(nlp, factory), exclude=["vocab"])
    assert "persistent" in loaded.vocab.strings
