"""Rehearsal: what a component predicted before it went on learning is learnt along with what is new."""

from dataclasses import replace

import spacy
from spacy.training import Example

from spacy_ssvm.pipeline.patterns import Patterns

from .components import COMPONENTS, every, learnt
from .toy import EXAMPLES, TAGGED, annotation, doc, tagged, trained, weights


def raw(nlp, factory) -> list[Example]:
    return [Example(doc(nlp, text), doc(nlp, text)) for text, _ in COMPONENTS[factory].corpus]


@every
def test_it_learns_what_was_predicted(factory, tmp_path):
    """Texts without annotation are enough, in a pipeline that has been loaded as in one that has just been trained."""
    trained(factory, 2).to_disk(tmp_path)
    for nlp in (spacy.load(tmp_path), trained(factory, 2)):
        before = [annotation(nlp(doc(nlp, text))) for text, _ in COMPONENTS[factory].corpus]
        nlp.resume_training()
        losses: dict[str, float] = {}
        for _ in range(15):
            nlp.rehearse(raw(nlp, factory), losses=losses)
        assert set(losses) == {factory}
        assert [annotation(nlp(doc(nlp, text))) for text, _ in COMPONENTS[factory].corpus] == before


def test_it_helps_against_forgetting():
    """New examples alone contradict old ones; with rehearsal the old predictions stay."""
    kept = {}
    for rehearses in (False, True):
        nlp = trained("ssvm_tagger", solver="Perceptron")
        before = [annotation(nlp(doc(nlp, text))) for text, _ in TAGGED]
        nlp.resume_training()
        new = [tagged(nlp, text, ["VERB"] * len(text.split())) for text in ("eggs", "the cat", "green eggs ham", "I")]
        for _ in range(40):
            nlp.update(new, sgd=False)
            if rehearses:
                nlp.rehearse(raw(nlp, "ssvm_tagger"))
        after = [annotation(nlp(doc(nlp, text))) for text, _ in TAGGED]
        kept[rehearses] = sum(a == b for a, b in zip(before, after))
        assert nlp.evaluate(new)["tag_acc"] > 0.8
    assert kept[False] < kept[True]


def test_it_learns_nothing_from_patterns():
    nlp = trained("ssvm_tagger")
    before = [annotation(nlp(doc(nlp, text))) for text, _ in TAGGED]
    pipe = nlp.get_pipe("ssvm_tagger")
    rule = {"patterns": [[{"LOWER": "ham"}]], "allow": ["VERB"]}
    pipe.codec = replace(pipe.codec, patterns=Patterns("ssvm_tagger", nlp.vocab, [rule]))
    assert nlp(doc(nlp, "Eat blue ham"))[2].tag_ == "VERB"
    nlp.resume_training()
    for _ in range(10):
        nlp.rehearse(raw(nlp, "ssvm_tagger"))
    pipe.codec = replace(pipe.codec, patterns=())
    assert [annotation(nlp(doc(nlp, text))) for text, _ in TAGGED] == before


@every
def test_the_tutor_is_not_saved(factory):
    """Its name is that of spaCy's components; None stands for a component without one."""
    nlp = trained(factory, 2)
    pipe, before = nlp.get_pipe(factory), weights(nlp, factory)
    assert nlp.rehearse(EXAMPLES[factory](nlp)) == {factory: 0.0}, "there is none before training is resumed"
    nlp.resume_training()
    assert weights(nlp, factory) == before
    pipe._rehearsal_model = None
    assert pipe._rehearsal_model is None and nlp.rehearse(raw(nlp, factory)) == {factory: 0.0}
    assert weights(nlp, factory) == before


def test_it_looks_past_predictions():
    """Docs that the component has processed since are rehearsed as their texts are."""
    nlp, text = learnt("ssvm_ner"), "Anna Berg lives in New York ."
    before = annotation(nlp(doc(nlp, text)))
    nlp.resume_training()
    wrong = doc(nlp, text, ents=["B-GPE", "I-GPE", "O", "O", "O", "O", "O"])
    nlp.update([Example(doc(nlp, text), wrong)], sgd=False)
    processed = nlp(doc(nlp, text))
    assert annotation(processed) != before
    for _ in range(15):
        nlp.rehearse([Example(processed, processed.copy())])
    assert annotation(nlp(doc(nlp, text))) == before
