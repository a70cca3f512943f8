"""The exchange algorithm, against trying every class for every word."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.clustering import exchange as module
from spacy_ssvm.clustering.bigrams import FRACTION_BITS, average_mutual_information, count_bigrams
from spacy_ssvm.clustering.exchange import State, exchange
from spacy_ssvm.clustering.spelling import MIN_WORDS, SMOOTHING, no_spellings, spellings

from .reference import information
from .texts import texts

CLOSE = 1e-3
"""Bits of a whole text: terms are rounded to 2⁻²⁰."""


def spelling_score(words, classes, word, c):
    """log₂ of the probability that a class spells a word, with the word itself taken out of its class."""
    paths = [[(), *path] for path in map(path_of, words)]
    others = [path for k, path in enumerate(paths) if classes[k] == c and k != word]
    score = 0.0
    for parent, node in zip(paths[word], paths[word][1:]):
        n_with = sum(node in path for path in paths)
        if n_with < MIN_WORDS:
            break
        share = n_with / sum(parent in path for path in paths)
        with_node, with_parent = (sum(wanted in path for path in others) for wanted in (node, parent))
        score += math.log2((with_node + SMOOTHING * share) / (with_parent + SMOOTHING))
    return score


def path_of(word):
    """For words in small letters alone: their shape, and their last letters."""
    shape = "a" if len(word) == 1 else "aa"
    return [(shape, word[len(word) - k :]) for k in range(min(3, len(word)) + 1)]


LONGER = {letter: letter * 2 + ending for letter, ending in zip("abcdefghij", ["s", "ing", "s", "ed"] * 3)}


@given(texts, st.integers(2, 4), st.booleans(), st.data())
def test_the_class_that_is_found_is_the_best(sentences, n_classes, with_spelling, data):
    sentences = [[LONGER[word] for word in sentence] for sentence in sentences]
    bigrams = count_bigrams(sentences)
    words, n_words = bigrams.words, len(bigrams.words)
    drawn = data.draw(st.lists(st.integers(0, n_classes), min_size=n_words, max_size=n_words))
    paths = spellings(words) if with_spelling else no_spellings(n_words)
    clustering = module._new_clustering(bigrams, n_classes, paths, np.array(drawn, np.int32))
    found = module._find_classes(clustering, (0, n_words))
    for word in range(n_words):

        def score(c, word=word):
            classes = [*drawn[:word], c, *drawn[word + 1 :]]
            named = {w: k for w, k in zip(words, classes) if k < n_classes}
            prior = spelling_score(words, drawn, word, c) if with_spelling else 0.0
            return bigrams.n_pairs * information(sentences, named) + prior

        candidates = [score(c) for c in range(n_classes)]
        assert candidates[found[word]] == pytest.approx(max(candidates), abs=CLOSE)
        if drawn[word] < n_classes and candidates[drawn[word]] >= max(candidates) - CLOSE / 10:
            assert candidates[found[word]] <= candidates[drawn[word]] + CLOSE


@given(texts, st.integers(2, 4), st.integers(1, 3))
def test_counts_stay_those_of_the_classes_and_information_never_falls(sentences, n_classes, batch):
    bigrams = count_bigrams(sentences)
    n_words = len(bigrams.words)
    n_classes = min(n_classes, n_words)
    paths = no_spellings(n_words)
    start = (np.arange(n_words) % n_classes).astype(np.int32)
    informations = [average_mutual_information(bigrams, start)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", batch)
        kept = []
        patch.setattr(
            module, "_count", lambda clustering, count=module._count: kept.append(clustering) or count(clustering)
        )
        for state in exchange(bigrams, n_classes, paths, State("sweeps", 0, 0, 0, start)):
            informations.append(average_mutual_information(bigrams, state.classes))
            anew = module._new_clustering(bigrams, n_classes, paths, state.classes)
            for name in ("sizes", "after", "before", "spelt"):
                assert np.array_equal(getattr(kept[0], name), getattr(anew, name)), name
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(informations))
    assert state.stage == "finished"


def test_spelling_puts_words_that_look_alike_together():
    """Each is a sentence by itself: nothing else tells them apart."""
    endings = {
        "ing": ["walk", "talk", "jump", "sing", "read", "wait"],
        "ness": ["sad", "glad", "kind", "dark", "soft", "fit"],
    }
    words = [stem + ending for ending, stems in endings.items() for stem in stems]
    frequent = [["walking", "fast"], ["sadness", "there"]] * 5
    bigrams = count_bigrams([*frequent, *([word] for word in words)])
    n_words = len(bigrams.words)
    start = np.minimum(np.arange(n_words), 4).astype(np.int32)
    *_, state = exchange(bigrams, 4, spellings(bigrams.words), State("sweeps", 0, 0, 0, start))
    of_ending = {
        ending: {state.classes[k] for k, word in enumerate(bigrams.words) if word.endswith(ending)}
        for ending in endings
    }
    assert len(of_ending["ing"]) == len(of_ending["ness"]) == 1 and of_ending["ing"] != of_ending["ness"]


def test_units_hold_the_largest_sums():
    most = 2.0**31
    assert most * math.log2(most) * 2.0**FRACTION_BITS * 8 < 2.0**63
