"""Components as parts of a pipeline: adding, naming, sourcing, switching off, describing, scoring."""

import copy

import numpy as np
import pytest
import spacy
from spacy import ty
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.training import Example

from .components import ATTRIBUTE, COMPONENTS, LABELS, SCORE, every, learnt, learnt_as
from .toy import EXAMPLES, LANG, annotations, blank, doc, weights

SCORES = {
    "ssvm_tagger": {"tag_acc"},
    "ssvm_morphologizer": {"pos_acc", "morph_acc"},
    "ssvm_ner": {"ents_f", "ents_p", "ents_r"},
    "ssvm_senter": {"sents_f", "sents_p", "sents_r"},
    "ssvm_lemmatizer": {"lemma_acc"},
    "ssvm_parser": {"uas", "las", "dep_uas", "dep_las"},
}


@every
def test_the_factory_is_described(factory):
    meta = blank(factory).get_factory_meta(factory)
    of_spacy = spacy.blank(LANG).get_factory_meta(COMPONENTS[factory].spacys)
    assert meta.factory == factory and meta.assigns and not meta.requires
    assert set(of_spacy.assigns) <= set(meta.assigns)
    assert SCORE[factory] in meta.scores
    weights = meta.default_score_weights
    assert sum(weight or 0 for weight in weights.values()) == 1.0
    if factory == "ssvm_tagger":
        assert weights == {"tag_acc": 1.0, "pos_acc": None} and set(meta.scores) == {*weights}
    elif factory == "ssvm_parser":
        assert set(of_spacy.default_score_weights) <= set(weights)
    else:
        assert weights == of_spacy.default_score_weights
    named = {
        "LEMMA": "token.lemma",
        "TAG": "token.tag",
        "MORPH": "token.morph",
        "ENT_IOB": "token.ent_iob",
        "SENT_START": "token.is_sent_start",
        "DEP": "token.dep",
    }
    assert named[ATTRIBUTE[factory]] in meta.assigns
    analysis = blank(factory).analyze_pipes(keys=["assigns", "requires", "scores", "retokenizes"])
    assert analysis["problems"] == {factory: []}
    assert analysis["summary"][factory]["retokenizes"] is False
    assert SCORE[factory] in analysis["summary"][factory]["scores"]


@every
def test_several_under_different_names_in_one_pipeline(factory, tmp_path):
    nlp = learnt_as({"one": factory, "two": factory})
    alone = annotations(learnt(factory))
    assert annotations(nlp) == alone
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert again.pipe_names == ["one", "two"] and annotations(again) == alone
    assert weights(again, "one") == weights(again, "two")


@every
def test_beside_spacy_s_own_components(factory):
    nlp = spacy.blank(LANG)
    for name in ("sentencizer", factory, "merge_entities"):
        nlp.add_pipe(name, source=learnt(factory) if name == factory else None)
    nlp.add_pipe("entity_ruler", before=factory).add_patterns([{"label": "ANIMAL", "pattern": "dog"}])
    tokens = nlp("Tom met Anna in Berlin. The dog sleeps.")
    assert tokens.has_annotation(ATTRIBUTE[factory])
    assert next(tokens.sents).start == 0
    assert "ANIMAL" in {entity.label_ for entity in tokens.ents}


@every
@pytest.mark.parametrize("how", ["disable", "exclude", "enable"])
def test_loading_without_it(factory, how, tmp_path):
    nlp = learnt_as({"it": factory, "other": "ssvm_tagger"})
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path, **{how: ["other"] if how == "enable" else ["it"]})
    assert again.pipe_names == ["other"]
    assert again.component_names == (["other"] if how == "exclude" else ["it", "other"])
    if how != "exclude":
        again.enable_pipe("it")
        assert annotations(again) == annotations(nlp)
        again.disable_pipe("it")
        assert again.disabled == ["it"]


@every
def test_sourcing_brings_what_was_learnt(factory, tmp_path):
    source = learnt(factory)
    before, config = annotations(source), source.config["components"][factory]
    nlp = spacy.blank(LANG)
    nlp.add_pipe(factory, name="sourced", source=source)
    assert annotations(nlp) == before
    assert nlp.config["components"]["sourced"] == config
    nlp.to_disk(tmp_path)
    config = {
        "nlp": {"lang": LANG, "pipeline": ["it"]},
        "components": {"it": {"source": str(tmp_path), "component": "sourced"}},
    }
    for again in (spacy.load(tmp_path), spacy.util.load_model_from_config(config, auto_fill=True)):
        assert annotations(again) == before
    with pytest.raises(KeyError, match="missing"):
        spacy.blank(LANG).add_pipe("missing", source=source)


@every
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("n_batches", [0, 2])
def test_a_copy_learns_on_as_the_original(factory, copied, n_batches):
    """From its solver's state, with the config's seed, and in the middle of a batch that comes in parts."""
    nlp = blank(factory)
    nlp.config["training"].update(seed=5, accumulate_gradient=2)
    examples, pipe = EXAMPLES[factory](nlp), nlp.get_pipe(factory)
    nlp.initialize(lambda: examples)

    def learn(component):
        component.update(examples[2:])
        component.finish_update(None)
        for example in examples:
            component.update([example])
        component.finish_update(None)
        return component.to_bytes(exclude=["vocab"]), component.figures, component.certificate()

    for _ in range(n_batches):
        learn(pipe)
    pipe.update(examples[:2])
    again = copied(pipe)
    assert again.trained.seed == 5 and again.trained.gets_parts
    before, expected = again.to_bytes(exclude=["vocab"]), learn(pipe)
    assert again.to_bytes(exclude=["vocab"]) == before and learn(again) == expected
    assert (again.vocab is pipe.vocab) == (copied is copy.copy)


@every
def test_a_copy_of_a_loaded_component_corrects_and_rehearses_as_it_does(factory):
    nlp = learnt(factory)
    nlp.resume_training()
    first, others = EXAMPLES[factory](nlp)[:1], EXAMPLES[factory](nlp)[1:]
    nlp.update(first)
    again = copy.deepcopy(nlp)
    for pipeline in (nlp, again):
        pipeline.update(others)
        pipeline.rehearse(first)
    assert again.get_pipe(factory).to_bytes() == nlp.get_pipe(factory).to_bytes()


@every
def test_score_keys(factory):
    nlp = learnt(factory)
    scores = nlp.evaluate(EXAMPLES[factory](nlp))
    announced = {key for key, weight in Language.get_factory_meta(factory).default_score_weights.items()}
    missing = {"pos_acc"} if factory == "ssvm_tagger" else set()
    assert announced - missing <= set(scores) and not {*missing, "sents_per_type"} & set(scores)
    assert {scores[key] for key in SCORES[factory]} == {1.0}
    assert factory != "ssvm_ner" or set(scores["ents_per_type"]) == {*LABELS[factory]}
    weighted = {key for key, weight in nlp.config["training"]["score_weights"].items() if weight}
    assert weighted <= set(scores)


@every
def test_scoring_without_gold(factory):
    """Docs that are not annotated say nothing about a component: no score rather than zero, and no failure."""
    nlp = learnt(factory)
    bare = [Example(doc(nlp, "Eat ham"), doc(nlp, "Eat ham"))]
    score = nlp.evaluate(bare)[SCORE[factory]]
    assert score is None or (score == 0.0 and factory == "ssvm_parser")
    assert nlp.evaluate([])[SCORE[factory]] in (None, 0.0)


@every
def test_no_scorer_and_another_one_that_sees_labels_and_settings(factory):
    settings = {"spans_key": "possible"} if factory == "ssvm_ner" else {}
    nlp = learnt(factory, scorer=None, **settings)
    assert nlp.get_pipe(factory).score(EXAMPLES[factory](nlp)) == {}
    nlp = learnt(factory)
    seen = {}

    def scorer(examples, **settings):
        seen.update(settings)
        return {"mine": 1.0}

    component = nlp.get_pipe(factory)
    component.scorer = scorer
    assert nlp.evaluate(EXAMPLES[factory](nlp))["mine"] == 1.0
    assert tuple(seen["labels"]) == component.labels


@every
def test_component_is_what_spacy_takes_for_trainable(factory):
    """Whatever device others prefer, its weights stay arrays of NumPy."""
    component = learnt(factory).get_pipe(factory)
    assert isinstance(component, TrainablePipe) and isinstance(component, ty.TrainableComponent)
    assert isinstance(component, ty.InitializableComponent)
    assert component.is_trainable and component.is_resizable in (True, False)
    model = component.model
    assert model.ops.name == "numpy"
    assert all(isinstance(model.get_param(name), np.ndarray) for name in model.param_names if model.has_param(name))
