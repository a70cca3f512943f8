"""Counts of words and pairs, against counting by hand."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.clustering import bigrams as module
from spacy_ssvm.clustering.bigrams import average_mutual_information, count_bigrams, table_of_terms, term

from .reference import BOUNDARY, RARE, by_frequency, information, stream
from .texts import texts


def pairs_of(found, neighbours):
    names = [*found.words, RARE, BOUNDARY]
    return {
        (names[word], names[neighbours.words[at]]): neighbours.counts[at]
        for word in range(len(names))
        for at in range(neighbours.starts[word], neighbours.starts[word + 1])
    }


@given(texts, st.integers(1, 3), st.integers(1, 8))
def test_counts_are_those_of_the_text(sentences, min_count, chunk):
    counts = Counter(word for sentence in sentences for word in sentence)
    kept = [word for word in by_frequency(sentences) if counts[word] >= min_count]
    if not kept:
        with pytest.raises(ValueError, match="lower the minimum count"):
            count_bigrams(sentences, min_count)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        found = count_bigrams(sentences, min_count)
    text = [word if word in kept or word == BOUNDARY else RARE for word in stream(sentences)]
    expected = Counter(pairwise(text))
    assert found.words == kept
    assert found.counts.tolist() == [text[1:].count(word) for word in [*kept, RARE, BOUNDARY]]
    assert pairs_of(found, found.right) == expected
    assert pairs_of(found, found.left) == {(right, left): count for (left, right), count in expected.items()}


@given(texts, st.integers(1, 2), st.data())
def test_mutual_information_is_that_of_its_definition(sentences, min_count, data):
    try:
        found = count_bigrams(sentences, min_count)
    except ValueError:
        return
    classes = data.draw(st.lists(st.integers(0, 3), min_size=len(found.words), max_size=len(found.words)))
    expected = information(sentences, dict(zip(found.words, classes)))
    assert average_mutual_information(found, module.np.array(classes)) == pytest.approx(expected)


def test_terms_of_numbers_that_are_not_looked_up(monkeypatch):
    expected = table_of_terms(1000)
    monkeypatch.setattr(module, "MAX_TABLE", 5)
    assert len(table_of_terms(1000)) == 5
    assert [term(table_of_terms(1000), n) for n in range(len(expected))] == expected.tolist()


def test_words_are_normalised_and_whitespace_is_no_word():
    found = count_bigrams([["In", "1984", " ", "\n", "", "in"], [" "], [], ["2001"]])
    assert dict(zip(found.words, found.counts.tolist())) == {"0000": 2, "In": 1, "in": 1}
    assert found.counts[-1] == 2


def test_a_word_that_no_line_can_list_is_rare():
    found = count_bigrams([["a", "b\tc", "d\u2028e", "x\ny", "10\u00a0000"]])
    assert found.words == ["00\u00a0000", "a"] and found.counts.tolist() == [1, 1, 3, 1]


@pytest.mark.parametrize("sentences", [[], [[]], [["", " "]]])
def test_nothing_to_count_is_an_error(sentences):
    with pytest.raises(ValueError, match="no word in the text"):
        count_bigrams(sentences)


def test_a_text_in_place_of_words_is_an_error():
    with pytest.raises(TypeError, match="a list of words, not a string: 'the dog'"):
        count_bigrams(["the dog"])


def test_too_much_text_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "MAX_PAIRS", 3)
    with pytest.raises(ValueError, match="the limit is 3"):
        count_bigrams([["a", "b", "c"]])
