"""Components as parts of a pipeline: adding, naming, sourcing, switching off, describing, scoring."""

import copy

import numpy as np
import pytest
import spacy
from spacy import ty
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.training import Example

from .components import COMPONENTS, LABELS, SCORE, every, learnt
from .toy import EXAMPLES, LANG, blank, doc

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
    """What it assigns and its scores are those of the component of spaCy that it replaces, and more."""
    nlp = blank(factory)
    meta = nlp.get_factory_meta(factory)
    of_spacy = spacy.blank(LANG).get_factory_meta(COMPONENTS[factory].spacys)
    assert meta.assigns and not meta.requires and set(of_spacy.assigns) <= set(meta.assigns)
    assert sum(weight or 0 for weight in meta.default_score_weights.values()) == 1.0
    if factory == "ssvm_parser":
        assert set(of_spacy.default_score_weights) <= set(meta.default_score_weights)
    elif factory != "ssvm_tagger":
        assert meta.default_score_weights == of_spacy.default_score_weights
    analysis = nlp.analyze_pipes(keys=["assigns", "requires", "scores", "retokenizes"])
    assert analysis["problems"] == {factory: []} and analysis["summary"][factory]["retokenizes"] is False
    assert SCORE[factory] in analysis["summary"][factory]["scores"]


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
def test_no_scorer_and_another_one_that_sees_labels(factory):
    nlp, seen = learnt(factory, scorer=None), {}
    component, examples = nlp.get_pipe(factory), EXAMPLES[factory](nlp)
    assert component.score(examples) == {}
    component.scorer = lambda examples, **settings: seen.update(settings) or {"mine": 1.0}
    assert nlp.evaluate(examples)["mine"] == 1.0 and tuple(seen["labels"]) == component.labels


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
