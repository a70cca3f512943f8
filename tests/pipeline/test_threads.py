"""`n_threads` of the components: the same annotation and weights as with one thread, errors and warnings as well."""

import pickle
from dataclasses import replace

import pytest
import spacy
from spacy.tokens import Doc

from spacy_ssvm import threads
from spacy_ssvm.solvers import oracle_pass

from .toy import (
    EXAMPLES,
    LANG,
    PARAGRAPHS,
    SPANS,
    TAGGED,
    TREES,
    annotation,
    blank,
    doc,
    tagged,
    templates,
    train,
    trained,
    weights,
)

every = pytest.mark.parametrize("factory", EXAMPLES)
TEXTS = [text for corpus in (TAGGED, SPANS, PARAGRAPHS, TREES) for text, _ in corpus]


@pytest.fixture(autouse=True)
def _little_work_is_shared_out(monkeypatch):
    monkeypatch.setattr(threads, "MIN_SHARE", 1)
    monkeypatch.setattr(oracle_pass, "PART", 2)


@every
def test_annotation_does_not_depend_on_the_number_of_threads(factory):
    nlp = trained(factory)

    def annotated(n_threads):
        pipe = nlp.get_pipe(factory)
        pipe.settings = replace(pipe.settings, n_threads=n_threads)
        docs = [Doc(nlp.vocab), *(doc(nlp, text) for text in TEXTS * 5), Doc(nlp.vocab)]
        return [annotation(tokens) for tokens in nlp.pipe(docs)]

    assert annotated(3) == annotated(1)


@every
def test_training_does_not_depend_on_the_number_of_threads(factory):
    alone, shared = (trained(factory, 4, solver="CPD", n_threads=n_threads) for n_threads in (1, 2))
    assert shared.get_pipe(factory)._learnt.training.n_threads == 2
    assert weights(alone, factory) == weights(shared, factory)


@every
def test_the_number_of_threads_survives_pickling(factory):
    assert pickle.loads(pickle.dumps(blank(factory, n_threads=2).get_pipe(factory))).settings.n_threads == 2


@every
def test_what_is_no_number_of_threads(factory):
    with pytest.raises(ValueError, match=rf"\[{factory}\] n_threads must be a whole number"):
        spacy.blank(LANG).add_pipe(factory, config={"n_threads": 0})


@every
def test_the_error_handler_sees_only_the_bad_doc(factory, monkeypatch):
    nlp = trained(factory)
    component = nlp.get_pipe(factory)
    component.settings = replace(component.settings, n_threads=3)
    read = component._prepared

    def fails_on_boom(docs):
        predict = read(docs)
        return (lambda: 1 / 0) if any(token.text == "boom" for tokens in docs for token in tokens) else predict

    monkeypatch.setattr(component, "_prepared", fails_on_boom)
    failed = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append([tokens.text.strip() for tokens in docs]))
    texts = [*TEXTS, "boom", *TEXTS]
    alone = [annotation(nlp(doc(nlp, text))) for text in texts if text != "boom"]
    kept = list(nlp.pipe([doc(nlp, text) for text in texts]))
    assert [tokens.text.strip() for tokens in kept] == [text for text in texts if text != "boom"]
    assert [annotation(tokens) for tokens in kept] == alone
    assert failed == [["boom"]]


def test_warnings_are_given_once():
    nlp = blank("ssvm_tagger", n_threads=4, model=templates("word[0]", "pos[0]"))
    examples = [tagged(nlp, text, tags) for text, tags in TAGGED]
    for example in examples:
        example.predicted[0].pos_ = "NOUN"
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    with pytest.warns(UserWarning, match="it has learnt from token.pos") as caught:
        list(nlp.pipe([doc(nlp, text) for text in TEXTS * 20]))
    assert len(caught) == 1
