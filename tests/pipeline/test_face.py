"""What spaCy expects of every component, whatever it learns: names, scorers, labels that were given, failed calls."""

import copy
import pickle
import warnings
from dataclasses import replace

import pytest
import spacy
from spacy.pipeline import TrainablePipe
from spacy.training import Example

from spacy_ssvm.models.store import DamagedModel
from spacy_ssvm.pipeline.trained_state import TrainedState

from .components import COMPONENTS, NEW_LABEL, SCORE, TEXTS, every, learnt
from .toy import EXAMPLES, annotation, annotations, doc, trained


@every
def test_spacys_own_scorer_works_in_place_of_ours(factory):
    scorer = f"spacy.{COMPONENTS[factory].spacys.removeprefix('trainable_')}_scorer.v1"
    nlp, figure = learnt(factory, scorer={"@scorers": scorer}), {"las": "dep_las"}.get(SCORE[factory], SCORE[factory])
    found, expected = (pipeline.evaluate(EXAMPLES[factory](nlp))[figure] for pipeline in (nlp, learnt(factory)))
    assert found == expected > 0.5


@every
def test_messages_name_a_sourced_component_as_its_pipeline_does(factory):
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory, name="mine", source=learnt(factory))
    pipe = nlp.get_pipe("mine")
    assert pipe.name == pipe.codec.name == "mine"
    with pytest.raises((ValueError, NotImplementedError), match=r"^\[mine\]"):
        pipe.add_label("")
    assert nlp.update(EXAMPLES[factory](nlp)).keys() == {"mine"}


@every
def test_a_failed_load_keeps_the_training(factory):
    nlp = trained(factory)
    pipe = nlp.get_pipe(factory)
    before, epoch = pipe.to_bytes(), pipe.figures.epoch
    with pytest.raises(ValueError, match="cannot be loaded"):
        pipe.from_bytes(before[:-1])
    assert pipe.to_bytes() == before and pipe.figures.epoch == epoch
    nlp.update(EXAMPLES[factory](nlp))
    assert pipe.figures.epoch == epoch + 1


@pytest.mark.parametrize(
    ("factory", "override"), [("ssvm_tagger", {"attr": "pos"}), ("ssvm_parser", {"multi_root": True})]
)
def test_a_setting_that_the_weights_depend_on_comes_from_the_file(factory, override, tmp_path):
    nlp = learnt(factory)
    nlp.to_disk(tmp_path)
    ((key, other),) = override.items()
    with pytest.warns(UserWarning, match=rf"is loaded with {key} = .*, not {other!r}"):
        loaded = spacy.load(tmp_path, config={"components": {factory: override}})
    assert loaded.get_pipe(factory).codec.saved == nlp.get_pipe(factory).codec.saved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spacy.load(tmp_path)


@every
def test_cfg_cannot_change_the_labels(factory):
    pipe = learnt(factory).get_pipe(factory)
    with pytest.raises(ValueError, match=r"add_label|labels can only be"):
        pipe.cfg = {**pipe.cfg, "labels": [*pipe.labels, "NEW"]}
    pipe.cfg = {**pipe.cfg, "threshold": 0.5}
    assert "threshold" not in pipe.cfg and "NEW" not in pipe.labels


def test_an_item_of_cfg_is_not_set_silently():
    pipe = learnt("ssvm_tagger").get_pipe("ssvm_tagger")
    with pytest.warns(UserWarning, match=r"cfg\['overwrite'\] = True alone changes nothing") as caught:
        for _ in range(2):
            pipe.cfg["overwrite"] = True
    assert len(caught) == 1 and "overwrite" not in pipe.cfg
    assert pickle.loads(pickle.dumps(pipe.cfg)) == copy.copy(pipe.cfg) == pipe.cfg


@every
def test_parts_of_a_component_cannot_be_replaced_by_those_of_another(factory):
    """They would have no effect, or make a component that fails later."""
    nlp, other = learnt(factory), "ssvm_tagger" if factory == "ssvm_ner" else "ssvm_ner"
    pipe, theirs, before = nlp.get_pipe(factory), learnt(other).get_pipe(other), annotations(nlp)
    for name in ("model", "vocab", "codec"):
        with pytest.raises((AttributeError, ValueError), match=rf"^\[{factory}\] .*{name}"):
            setattr(pipe, name, getattr(theirs, name))
    longer = [replace(pipe.codec, labels=(*pipe.labels, new)) for name, new in NEW_LABEL.items() if name == factory]
    for codec in (replace(pipe.codec, name="other"), None, *longer):
        with pytest.raises(ValueError, match=r"codec must be a .*Codec with the component's name and labels"):
            pipe.codec = codec
    pipe.codec = replace(pipe.codec)
    assert annotations(nlp) == before
    assert TrainablePipe.model.__get__(pipe) is pipe.model and TrainablePipe.vocab.__get__(pipe) is nlp.vocab


def test_the_senter_learns_gold_boundaries_in_place_of_those_of_the_predicted_doc():
    nlp = learnt("ssvm_senter")
    text, starts = "It was she . Said Tom", [True, False, False, False, False, False]
    gold = doc(nlp, f"{text} . Yes", sent_starts=[*starts, False, True])
    wrong = doc(nlp, gold.text, sent_starts=[True, False, False, False, True, False, False, False])
    for _ in range(30):
        nlp.update([Example(wrong.copy(), gold)])
    assert [token.is_sent_start for token in nlp(doc(nlp, gold.text))] == [token.is_sent_start for token in gold]


def test_a_batch_that_fails_where_no_document_does_is_said_once():
    """It is a fault of ours, or of the memory: the annotation is right, but slow."""
    nlp = learnt("ssvm_tagger")
    pipe = nlp.get_pipe("ssvm_tagger")
    predict = pipe.predict

    def failing(docs):
        if len(docs) > 1:
            raise IndexError("out of range")
        return predict(docs)

    pipe.predict = failing
    expected = [annotation(nlp(doc(nlp, text))) for text in TEXTS]
    with pytest.warns(UserWarning, match=r"a batch of 2 documents .*: IndexError\('out of range'\)") as said:
        found = [annotation(tokens) for tokens in pipe.pipe((doc(nlp, text) for text in TEXTS), batch_size=2)]
    assert found == expected and len(said) == 1


@every
def test_what_fails_leaves_what_was_learnt(factory, monkeypatch):
    """After the model was emptied, too: what has been learnt is one value, which is replaced at the end."""
    nlp = learnt(factory)
    pipe, examples, expected = nlp.get_pipe(factory), EXAMPLES[factory](nlp), annotations(nlp)
    before, contents = pipe.trained, pipe.to_bytes()
    monkeypatch.setattr(TrainedState, "begun", lambda *_: 1 / 0)
    monkeypatch.setattr(TrainedState, "checked", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pipe.initialize(lambda: examples, nlp)
    with pytest.raises(DamagedModel):
        pipe.from_bytes(contents)
    assert pipe.trained is before and annotations(nlp) == expected and pipe.to_bytes() == contents
