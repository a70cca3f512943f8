"""Applying a component to Docs, alone and in a pipeline's stream."""

import copy
from itertools import count, islice

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..pipeline.toy import annotation, doc
from .components import ATTRIBUTE, LANG, TEXTS, annotated, every, learnt, texts_as_docs


@every
def test_no_docs(factory):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    assert len(component.predict([])) == 0
    component.set_annotations([], component.predict([]))
    assert list(component.pipe([])) == list(nlp.pipe([])) == []


@every
def test_empty_docs(factory):
    nlp = learnt(factory)
    docs = [Doc(nlp.vocab), doc(nlp, "Eat ham"), Doc(nlp.vocab)]
    assert [len(tokens) for tokens in nlp.pipe(docs)] == [0, 2, 0]
    assert len(nlp("")) == 0
    assert [len(tokens) for tokens in nlp.pipe(["", ""])] == [0, 0]


@every
@pytest.mark.parametrize("text", [" ", "\n\n", " \t\u00a0\u2028 ", "  ham  \n"])
def test_whitespace(factory, text):
    nlp = learnt(factory)
    tokens = nlp(text)
    assert tokens.text == text
    assert tokens.has_annotation(ATTRIBUTE[factory])
    assert not any(entity[0].is_space for entity in tokens.ents)


@every
def test_every_token_is_annotated(factory):
    nlp = learnt(factory)
    for tokens in nlp.pipe(texts_as_docs(nlp)):
        assert tokens.has_annotation(ATTRIBUTE[factory], require_complete=True)


@every
def test_a_doc_that_was_annotated_comes_back_itself(factory):
    nlp = learnt(factory)
    tokens = doc(nlp, "Eat blue ham")
    assert nlp.get_pipe(factory)(tokens) is tokens
    assert next(nlp.get_pipe(factory).pipe([tokens])) is tokens


@every
def test_predict_writes_nothing_and_set_annotations_does(factory):
    nlp = learnt(factory)
    docs = texts_as_docs(nlp)
    before = [annotation(tokens) for tokens in docs]
    predictions = nlp.get_pipe(factory).predict(docs)
    assert [annotation(tokens) for tokens in docs] == before
    nlp.get_pipe(factory).set_annotations(docs, predictions)
    assert [annotation(tokens) for tokens in docs] == annotated(nlp)


@every
def test_other_annotation_stays(factory):
    nlp = learnt(factory)
    tokens = nlp("Tom met Anna in Berlin .")
    for token in tokens:
        token.lemma_, token.norm_ = "a lemma", "a norm"
        token.set_morph("Case=Nom")
    tokens.user_data["key"] = "value"
    tokens.spans["group"] = [tokens[:2]]
    tensor = tokens.tensor
    tokens = nlp.get_pipe(factory)(tokens)
    assert {(t.lemma_, t.norm_, str(t.morph)) for t in tokens} == {("a lemma", "a norm", "Case=Nom")}
    assert tokens.user_data["key"] == "value" and len(tokens.spans["group"]) == 1 and tokens.tensor is tensor


@every
def test_predicting_again_changes_nothing(factory):
    nlp = learnt(factory)
    for text in TEXTS:
        tokens = nlp(doc(nlp, text))
        before = annotation(tokens)
        assert annotation(nlp(tokens)) == before


@every
@pytest.mark.parametrize("batch_size", [1, 2, 3, 1000])
def test_batch_size_does_not_matter(factory, batch_size):
    nlp = learnt(factory)
    alone = [annotation(nlp(doc(nlp, text))) for text in TEXTS]
    assert [annotation(tokens) for tokens in nlp.pipe(texts_as_docs(nlp), batch_size=batch_size)] == alone


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
def test_contexts_stay_with_their_texts(factory):
    nlp = learnt(factory)
    pairs = [(text, number) for number, text in enumerate(TEXTS)]
    assert [(tokens.text, number) for tokens, number in nlp.pipe(pairs, as_tuples=True, batch_size=3)] == pairs


@every
def test_an_error_in_a_stream_costs_one_doc(factory, monkeypatch):
    nlp = learnt(factory)
    component, failed = nlp.get_pipe(factory), []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, proc, [t.text for t in docs], error)))
    write = component.set_annotations

    def fails_on_boom(docs, predictions):
        if any(tokens[0].text == "boom" for tokens in docs if len(tokens)):
            raise ArithmeticError("boom")
        write(docs, predictions)

    monkeypatch.setattr(component, "set_annotations", fails_on_boom)
    texts = ["Eat ham", "boom", "", "Is Paris nice", "boom", "Tom left"]
    assert [tokens.text for tokens in nlp.pipe(texts)] == [text for text in texts if text != "boom"]
    assert [(name, proc, docs) for name, proc, docs, _ in failed] == [(factory, component, ["boom"])] * 2
    assert all(isinstance(error, ArithmeticError) for *_, error in failed)


@every
def test_an_error_handler_can_be_one_component_s_own(factory, monkeypatch):
    nlp = learnt(factory)
    component = nlp.get_pipe(factory)
    monkeypatch.setattr(component, "predict", lambda docs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        nlp("text")
    failed = []
    component.set_error_handler(lambda name, proc, docs, error: failed.append(docs))
    assert list(nlp.pipe(["text"])) == []
    assert len(failed) == 1 and component.get_error_handler() is not nlp.default_error_handler


@every
def test_docs_of_several_vocabularies_in_one_batch(factory):
    nlp = learnt(factory)
    others = [spacy.blank(LANG).vocab, nlp.vocab, Vocab()]
    docs = [Doc(others[k % 3], words=text.split()) for k, text in enumerate(TEXTS)]
    assert [annotation(tokens) for tokens in nlp.get_pipe(factory).pipe(docs)] == annotated(nlp)


@every
def test_spans_as_docs(factory):
    nlp = learnt(factory)
    tokens = nlp(doc(nlp, "Eat blue ham Tom met Anna in Berlin ."))
    part = tokens[3:9].as_doc()
    assert nlp.get_pipe(factory)(part) is part
    assert part.has_annotation(ATTRIBUTE[factory])


@every
def test_annotation_survives_the_doc_s_own_formats(factory):
    nlp = learnt(factory)
    for tokens in nlp.pipe(texts_as_docs(nlp)):
        assert annotation(Doc(nlp.vocab).from_bytes(tokens.to_bytes())) == annotation(tokens)
        assert annotation(Doc(nlp.vocab).from_json(tokens.to_json())) == annotation(tokens)
        assert annotation(copy.copy(tokens)) == annotation(tokens)


@every
def test_word_vectors_are_not_needed_and_do_no_harm(factory):
    import numpy as np

    nlp = learnt(factory)
    before = annotated(nlp)
    nlp.vocab.set_vector("ham", np.ones(4, np.float32))
    assert annotated(nlp) == before


@every
def test_a_memory_zone_leaves_nothing_behind(factory):
    """Docs of a zone die with it, and so do their strings; what the component keeps must not need them."""
    nlp = learnt(factory)
    before = annotated(nlp)
    words_before = len(nlp.vocab.strings)
    for number in range(3):
        with nlp.memory_zone():
            for tokens in nlp.pipe([f"Transient{number}{k} words here" for k in range(20)]):
                annotation(tokens)
        assert f"Transient{number}0" not in nlp.vocab.strings
    assert len(nlp.vocab.strings) == words_before
    assert annotated(nlp) == before


@every
def test_a_memory_zone_takes_what_is_known_of_its_words_with_it(factory):
    """A word's attributes are read once; those of the zone's own lexemes are not to be found after it."""
    nlp = learnt(factory)
    reader = nlp.get_pipe(factory)._learnt.structured.reader

    def keys():
        return reader.read([doc(nlp, "Eat Transient ham")], nlp.vocab).keys

    with nlp.memory_zone():
        word = nlp.vocab["Transient"]
        word.lower_ = word.norm_ = word.prefix_ = word.suffix_ = word.shape_ = "ham"
        inside = keys()
    after = keys()
    nlp = learnt(factory)
    reader = nlp.get_pipe(factory)._learnt.structured.reader
    assert (after == keys()).all()
    assert (after != inside).any()
