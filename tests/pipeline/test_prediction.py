"""Applying a component to Docs, alone and in a pipeline's stream."""

from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_ssvm import threads
from spacy_ssvm.pipeline.asking import Asking

from .components import ATTRIBUTE, COMPONENTS, TEXTS, every, learnt, texts_as_docs, written
from .toy import annotation, annotations, doc, morph_label

FAILURES = [
    ("predict", 1),
    *((place, n) for place in ("prepared", "what it returns", "set_annotations") for n in (1, 3)),
]
"""Where a component may fail, and its number of threads; with several, `predict` is not asked."""


@every
def test_no_docs_and_empty_docs(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    assert len(component.predict([])) == 0
    component.set_annotations([], component.predict([]))
    assert list(component.pipe([])) == list(nlp.pipe([])) == []
    docs = [Doc(nlp.vocab), *texts_as_docs(nlp), Doc(nlp.vocab), Doc(nlp.vocab)]
    before, *between = (annotation(tokens) for tokens in nlp.pipe(docs))
    assert before == between.pop() == between.pop() == ((), (), (), (), ())
    assert between == annotations(nlp)
    assert len(nlp("")) == 0


@every
def test_raw_text(factory):
    nlp = learnt(factory)
    text, expected = {
        "ssvm_tagger": ("Eat blue ham", ["VERB", "ADJ", "NOUN"]),
        "ssvm_morphologizer": ("Eat blue ham", [morph_label(pos) for pos in ("VERB", "ADJ", "NOUN")]),
        "ssvm_ner": ("Anna Berg lives in New York.", [(0, 2, "PER"), (4, 6, "GPE")]),
        "ssvm_senter": ("I like green eggs. Eat blue ham.", [0, 5]),
        "ssvm_lemmatizer": ("Dogs liked ham", ["lower|0>|1>", "lower|0>|1>", "lower|0>|0>"]),
        "ssvm_parser": ("Eat blue ham!", [(0, 0, "ROOT"), (2, 1, "amod"), (0, 2, "obj"), (0, 3, "punct")]),
    }[factory]
    assert written(factory, nlp(text)) == expected


@every
def test_predict_writes_nothing_and_set_annotations_does(factory):
    nlp = learnt(factory)
    docs = texts_as_docs(nlp)
    before = [annotation(tokens) for tokens in docs]
    predictions = nlp.get_pipe(factory).predict(docs)
    assert [annotation(tokens) for tokens in docs] == before
    nlp.get_pipe(factory).set_annotations(docs, predictions)
    assert [annotation(tokens) for tokens in docs] == annotations(nlp)
    assert all(tokens.has_annotation(ATTRIBUTE[factory], require_complete=True) for tokens in docs)
    assert nlp.get_pipe(factory)(docs[0]) is next(nlp.get_pipe(factory).pipe(docs)) is docs[0]


@every
def test_other_annotation_stays(factory):
    nlp = learnt(factory)
    tokens = Doc(
        nlp.vocab,
        words=["Eat", "blue", "ham", "in", "New", "York"],
        tags=["X"] * 6,
        pos=["VERB", "ADJ", "NOUN", "ADP", "PROPN", "PROPN"],
        lemmas=["a lemma"] * 6,
        morphs=["Case=Nom"] * 6,
        heads=[0, 2, 0, 5, 5, 2],
        deps=["ROOT", "amod", "dobj", "case", "compound", "nmod"],
        ents=["O", "O", "B-FOOD", "O", "O", "O"],
    )
    tokens.user_data["key"] = "value"
    tokens.spans["group"] = [tokens[:2]]
    for token in tokens:
        token.norm_ = "a norm"
    others = {"TAG", "POS", "LEMMA", "MORPH", "NORM", "HEAD", "DEP", "ENT_IOB", "ENT_TYPE", "SENT_START"}
    before = {name: tokens.to_array(name) for name in others - {*COMPONENTS[factory].gold}}
    tensor = tokens.tensor
    tokens = nlp.get_pipe(factory)(tokens)
    for name, values in before.items():
        assert np.array_equal(tokens.to_array(name), values), name
    assert tokens.user_data["key"] == "value" and len(tokens.spans["group"]) == 1 and tokens.tensor is tensor


@every
def test_batch_size_does_not_matter(factory):
    nlp = learnt(factory)
    alone = [annotation(nlp(doc(nlp, text))) for text in TEXTS]
    for batch_size in (1, 2, 3, 1000):
        assert [annotation(tokens) for tokens in nlp.pipe(texts_as_docs(nlp), batch_size=batch_size)] == alone
    docs, component = texts_as_docs(nlp), nlp.get_pipe(factory)
    for tokens, prediction in zip(docs, component.predict(docs), strict=True):
        assert np.array_equal(component.predict([tokens])[0], prediction)
        assert np.atleast_2d(prediction).shape[1] == len(tokens)


@every
def test_a_stream_is_read_as_it_is_needed(factory):
    """An endless one, too, and never more than the next batch of it."""
    nlp = learnt(factory)
    read = count()
    stream = (doc(nlp, TEXTS[next(read) % len(TEXTS)]) for _ in iter(int, 1))
    annotated_docs = list(islice(nlp.pipe(stream, batch_size=4), 10))
    assert [tokens.text.strip() for tokens in annotated_docs] == [TEXTS[i % len(TEXTS)] for i in range(10)]
    assert next(read) <= 12


@every
@pytest.mark.parametrize("failure", FAILURES)
def test_an_error_in_a_stream_costs_one_doc(factory, failure, monkeypatch):
    """The error handler gets that Doc alone, and every other one is annotated; without one, the error is raised."""
    monkeypatch.setattr(threads, "MIN_SHARE", 1)
    nlp, failed, (place, n_threads) = learnt(factory), [], failure
    expected = annotations(nlp)
    component = nlp.get_pipe(factory)
    component.settings = replace(component.settings, n_threads=n_threads)
    owner, method = (Asking, "prepared") if place in ("prepared", "what it returns") else (type(component), place)
    works = getattr(owner, method)

    def fails(self, docs, *predictions):
        docs = list(docs)
        if not any(token.text == "boom" for tokens in docs for token in tokens):
            return works(self, docs, *predictions)
        return (lambda: 1 / 0) if place == "what it returns" else 1 / 0

    monkeypatch.setattr(owner, method, fails)
    bad = [doc(nlp, "boom"), doc(nlp, "Eat boom")]
    docs = [*texts_as_docs(nlp), bad[0], *texts_as_docs(nlp), bad[1]]
    with pytest.raises(ZeroDivisionError):
        list(nlp.pipe((tokens.copy() for tokens in docs), batch_size=24))
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, proc, docs, type(error))))
    assert list(nlp.pipe(docs, batch_size=24)) == [tokens for tokens in docs if tokens not in bad]
    assert failed == [(factory, component, [tokens], ZeroDivisionError) for tokens in bad]
    assert [annotation(tokens) for tokens in docs if tokens not in bad] == expected * 2


@every
def test_a_memory_zone_leaves_nothing_behind(factory):
    """Docs of a zone die with it, and so do their strings; what the component keeps must not need them."""
    nlp = learnt(factory)
    before = annotations(nlp)
    words_before = len(nlp.vocab.strings)
    for number in range(3):
        with nlp.memory_zone():
            for tokens in nlp.pipe([f"Transient{number}{k} words here" for k in range(20)]):
                annotation(tokens)
        assert f"Transient{number}0" not in nlp.vocab.strings
    assert len(nlp.vocab.strings) == words_before
    assert annotations(nlp) == before
