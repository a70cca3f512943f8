"""Word types that all readers of a vocabulary share."""

import gc
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_ssvm.features import word_types as module
from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.features.word_keys import keys_of_words
from spacy_ssvm.features.word_types import word_types


@pytest.fixture
def vocab():
    return spacy.blank("xx").vocab


@pytest.fixture
def read_words(monkeypatch):
    """The words that were read, in order."""
    words = []

    def noting(names, texts, vocab):
        words.extend(texts)
        return keys_of_words(names, texts, vocab)

    monkeypatch.setattr(module, "keys_of_words", noting)
    return words


def reader(*attributes):
    return ColumnReader(attributes, {}, {})


def keys_of(columns):
    return columns.keys.tolist()


def expected(doc, *attributes):
    return [[getattr(token, name) for token in doc] for name in attributes]


def test_readers_of_a_vocabulary_read_a_word_once(vocab, read_words):
    first, second = reader("lower", "shape", "suffix2"), reader("suffix2", "lower")
    doc = Doc(vocab, words=["Ham", "eggs", "Ham"])
    assert keys_of(first.read([doc], vocab))[:2] == expected(doc, "lower", "shape")
    assert keys_of(second.read([doc, doc], vocab))[1] == expected([*doc, *doc], "lower")[0]
    assert read_words == ["Ham", "eggs"]
    ids = [each.read_types([doc], vocab)[1].ids.tolist() for each in (first, second)]
    assert ids[0] == ids[1]


def test_other_vocabularies_have_other_types(vocab, read_words):
    other = spacy.blank("xx").vocab
    other["Ham"].lower_ = "eggs"
    docs = [Doc(each, words=["Ham"]) for each in (vocab, other)]
    assert [keys_of(reader("lower").read([doc], vocab)) for doc in docs] == [expected(doc, "lower") for doc in docs]
    assert keys_of(reader("lower").read(docs, vocab)) == expected([docs[0][0], docs[1][0]], "lower")


def test_a_word_is_as_it_was_when_it_was_first_read_until_it_is_forgotten(vocab):
    """A change before is seen, one after not, by no reader; norms are of tokens, and never remembered."""
    readers = reader("lower", "norm", "is_stop"), reader("is_stop", "lower")
    doc = Doc(vocab, words=["Ham"])
    vocab["Ham"].lower_, vocab["Ham"].is_stop = "eggs", True
    for each in readers:
        assert {vocab.strings["eggs"], 1} <= set(each.read([doc], vocab).keys.ravel().tolist())
    vocab["Ham"].lower_, vocab["Ham"].norm_ = "spam", "sausage"
    assert keys_of(readers[0].read([doc], vocab)) == [[vocab.strings["eggs"]], [vocab.strings["sausage"]], [1]]
    assert keys_of(readers[1].read([doc], vocab)) == [[1], [vocab.strings["eggs"]]]
    doc[0].norm_ = "bacon"
    assert keys_of(readers[0].read([doc], vocab))[1] == [vocab.strings["bacon"]]
    readers[0].forget_types()
    for each in readers:
        assert vocab.strings["spam"] in each.read([doc], vocab).keys


def test_types_are_bounded_and_stay_right(monkeypatch, vocab, read_words):
    monkeypatch.setattr(module, "MAX_TYPES", 100)
    types = word_types(vocab)
    for start in range(0, 600, 50):
        doc = Doc(vocab, words=[f"Word{k}" for k in range(start, start + 50)] * 2)
        found = types.read(np.array([token.orth for token in doc], np.uint64), ["lower", "shape"])
        assert [found.of(name)[found.ids].tolist() for name in ("lower", "shape")] == expected(doc, "lower", "shape")
        assert found.keys.shape[1] <= 100 + 50
    assert len(read_words) == 600


def test_types_survive_a_word_that_cannot_be_read(vocab, monkeypatch):
    def moody(names, texts, vocab):
        if "bad" in texts:
            raise RuntimeError("not now")
        return keys_of_words(names, texts, vocab)

    types = word_types(vocab)
    orths = np.array([vocab[word].orth for word in ("good", "bad", "fine")], np.uint64)
    types.read(orths[:1], ["word"])
    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(module, "keys_of_words", moody)
        types.read(orths, ["word"])
    found = types.read(orths, ["word"])
    assert found.of("word")[found.ids].tolist() == orths.tolist()


def test_types_live_as_long_as_their_readers():
    vocab = Vocab()
    first, second = reader("word"), reader("word")
    for each in (first, second):
        each.read([Doc(vocab, words=["a"])], vocab)
    types = ref(word_types(vocab))
    del each, first
    gc.collect()
    assert types() is word_types(vocab)
    del second
    gc.collect()
    assert types() is None


def test_threads_share_types(vocab):
    batches = [[Doc(vocab, words=[f"Word{k % (7 + n)}-{n % 5}" for k in range(40)])] for n in range(60)]
    sets = [("lower", "suffix3"), ("short_shape", "lower"), ("shape", "lower_prefix2", "is_title")]
    alone = [[keys_of(reader(*names).read(batch, vocab)) for names in sets] for batch in batches]
    readers = [reader(*names) for names in sets]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda batch: [keys_of(each.read(batch, vocab)) for each in readers], batches * 4))
    assert found == alone * 4
