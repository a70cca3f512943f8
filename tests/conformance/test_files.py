"""Saving, loading, pickling and copying."""

import pickle
import pickletools

import pytest
import spacy
import srsly

from ..pipeline.toy import EXAMPLES, annotation, doc, train
from .components import LANG, TEXTS, annotated, blank, every, learnt, model_bytes

FIELDS = {"cfg", "vocab", "model"}


@every
@pytest.mark.parametrize("exclude", [[], ["vocab"], ["cfg"], ["model"], ["vocab", "cfg", "model"]])
def test_fields_can_be_left_out(factory, exclude, tmp_path):
    component = learnt(factory).get_pipe(factory)
    component.to_disk(tmp_path, exclude=exclude)
    assert {path.name for path in tmp_path.iterdir()} == FIELDS - set(exclude)
    assert set(srsly.msgpack_loads(component.to_bytes(exclude=exclude))) == FIELDS - set(exclude)


@every
def test_bytes_and_disk_say_the_same(factory, tmp_path):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    component.to_disk(tmp_path)
    from_disk, from_bytes = blank(factory), blank(factory)
    assert from_disk.get_pipe(factory).from_disk(tmp_path) is from_disk.get_pipe(factory)
    assert from_bytes.get_pipe(factory).from_bytes(component.to_bytes()) is from_bytes.get_pipe(factory)
    assert component.to_bytes() == from_bytes.get_pipe(factory).to_bytes()
    assert model_bytes(from_disk, factory) == model_bytes(nlp, factory)
    assert annotated(from_disk) == annotated(from_bytes) == annotated(nlp)


@every
def test_saving_over_an_older_pipeline(factory, tmp_path):
    untrained = blank(factory)
    untrained.initialize(lambda: EXAMPLES[factory](untrained))
    untrained.to_disk(tmp_path)
    learnt(factory).to_disk(tmp_path)
    assert annotated(spacy.load(tmp_path)) == annotated(learnt(factory))


@every
def test_a_pipeline_by_its_config_and_its_bytes(factory):
    nlp = learnt(factory)
    again = spacy.blank(LANG).from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert annotated(again) == annotated(nlp)


@every
def test_a_pipeline_without_vocab_and_without_the_component(factory):
    nlp = learnt(factory)
    assert annotated(blank(factory).from_bytes(nlp.to_bytes(exclude=["vocab"]))) == annotated(nlp)
    untouched = blank(factory).from_bytes(nlp.to_bytes(exclude=[factory]))
    assert untouched.get_pipe(factory).labels == blank(factory).get_pipe(factory).labels


@every
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(factory, protocol):
    component = learnt(factory).get_pipe(factory)
    again = pickle.loads(pickle.dumps(component, protocol))
    assert type(again) is type(component) and again.name == component.name
    assert again.labels == component.labels and again.solver == component.solver
    nlp = spacy.blank(LANG)
    texts = TEXTS[:5]
    assert [annotation(again(doc(nlp, text))) for text in texts] == [
        annotation(component(doc(nlp, text))) for text in texts
    ]


@every
def test_what_was_unpickled_learns_on(factory):
    nlp = learnt(factory)
    component = pickle.loads(pickle.dumps(nlp.get_pipe(factory)))
    examples = EXAMPLES[factory](nlp)
    for _ in range(3):
        component.update(examples)
    train(nlp, examples, 3)
    assert component.to_bytes(exclude=["vocab"]) == model_bytes(nlp, factory)


@every
def test_nothing_in_a_saved_pipeline_is_pickled(factory, tmp_path):
    """A file from elsewhere cannot run code."""
    learnt(factory).to_disk(tmp_path)
    for path in (tmp_path / factory).rglob("*"):
        if path.is_file():
            with pytest.raises(ValueError):
                list(pickletools.genops(path.read_bytes()))


@every
def test_settings_of_the_pipeline_that_loads(factory, tmp_path):
    """What is said at loading counts for how a component works, what is in the file for what it has learnt."""
    nlp = learnt(factory)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path, config={"components": {factory: {"n_threads": 2, "solver": {"seed": 3}}}})
    component = again.get_pipe(factory)
    assert component.settings.n_threads == 2 and component.solver.seed == 3
    assert annotated(again) == annotated(nlp)
