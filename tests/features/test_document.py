"""Attributes of the document around a word, against a plain reading of the Docs."""

from collections import Counter
from random import Random

import numpy as np
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import TEXT_PARTS
from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.features.document import MAX_COUNT, NEAREST, REACH, links, vote
from spacy_ssvm.features.word_classes import WordClasses

VOCAB = spacy.blank("en").vocab
SHORT_SHAPE = TEXT_PARTS["short_shape"].of

token = st.tuples(st.sampled_from(["Rome", "rome", "ROME", "a", "A", "b2"]), st.sampled_from([True, False, None]))
docs = st.lists(st.lists(token, max_size=40), max_size=4)


def doc_of(tokens):
    return Doc(VOCAB, words=[word for word, _ in tokens], sent_starts=[starts for _, starts in tokens] or None)


def others(words, place):
    """The other occurrences that count, those before first, nearest first."""
    same = [k for k, word in enumerate(words) if word.lower() == words[place].lower() and k != place]
    near = [k for k in same if abs(k - place) <= REACH]
    return [k for k in reversed(near) if k < place][:NEAREST] + [k for k in near if k > place][:NEAREST]


def most_frequent(values):
    """Of several the first one; Counter keeps their order."""
    return Counter(values).most_common(1)[0] if values else (None, 0)


def plain(doc):
    """The shape of the other occurrences of each token, None without one."""
    words = [word.text for word in doc]
    for place in range(len(doc)):
        inside = [k for k in others(words, place) if k and not doc[k].is_sent_start]
        yield most_frequent([SHORT_SHAPE(doc[k].lex) for k in inside])[0]


LONG = [("Rome", None), *[(f"w{k}", None) for k in range(REACH)], ("rome", None), ("x", None), ("rome", None)]
"""The first and the second occurrence are just too far from each other."""


@given(docs)
@example([LONG, [], LONG[1:]])
@example([[("a", None)] * 30])
def test_shapes_by_a_plain_reading(texts):
    read = [doc_of(tokens) for tokens in texts]
    columns = ColumnReader(["doc.shape"], {}, WordClasses({})).read(read, VOCAB)
    expected = [0 if shape is None else get_string_id(shape) for doc in read for shape in plain(doc)]
    assert columns.keys[0].tolist() == expected


@given(docs, st.randoms(use_true_random=False))
@example([LONG, LONG], Random(0))
def test_votes_by_a_plain_reading(texts, random):
    starts = np.cumsum([0, *map(len, texts)])
    words = np.array([get_string_id(word.lower()) for tokens in texts for word, _ in tokens], np.uint64)
    labels = np.array([random.randrange(3) for _ in words], np.int32)
    keys = np.arange(1, 1 + 3 * 2 * MAX_COUNT, dtype=np.uint64).reshape(3, 2, MAX_COUNT)
    expected = []
    for first, tokens in zip(starts.tolist(), texts):
        for place in range(len(tokens)):
            found = [int(labels[first + k]) for k in others([word for word, _ in tokens], place)]
            label, votes = most_frequent(found)
            agree = votes == len(found)
            expected.append(int(keys[label, int(not agree), min(len(found), MAX_COUNT) - 1]) if found else 0)
    votes = np.ones(len(words), np.uint64)
    vote(*links(starts, words), labels, keys, votes)
    assert votes.tolist() == expected


def test_sentence_boundaries_are_annotation_that_is_read():
    doc = Doc(VOCAB, words=["One", "two"])
    reader = ColumnReader(["doc.shape"], {}, WordClasses({}))
    before = reader.read_annotation(doc)
    doc[1].is_sent_start = True
    assert reader.read_annotation(doc) != before
    assert reader.annotation == []
