"""The window and the tree, against enumeration of all merges."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.clustering.bigrams import count_bigrams
from spacy_ssvm.clustering.brown import bit_strings, first_places
from spacy_ssvm.clustering.merging import UNMERGED, _best_pair, _gain, enter_and_merge, merge_pairs, new_window

from .reference import information, merged, of_clusters
from .texts import texts

CLOSE = 1e-5
"""Terms are rounded to 2⁻²⁰."""


def clusters_at(words, places):
    """The classes of a window; each word outside is one."""
    by_place: dict[object, set[str]] = {}
    for word, place in zip(words, places.tolist()):
        by_place.setdefault((word,) if place == UNMERGED else place, set()).add(word)
    return [frozenset(cluster) for cluster in by_place.values()]


def loss_of_best(sentences, clusters, candidates):
    """The largest information after a merge of two of the candidates."""
    return max(information(sentences, of_clusters(merged(clusters, pair))) for pair in combinations(candidates, 2))


@given(texts, st.integers(2, 4))
def test_every_merge_of_the_window_loses_the_least(sentences, n_classes):
    bigrams = count_bigrams(sentences)
    words = bigrams.words
    if len(words) <= n_classes:
        return
    window = new_window(bigrams, first_places(len(words), n_classes), n_classes + 1)
    for number in range(n_classes, len(words)):
        before = clusters_at(words, window.places[:-2])
        seen = set(words[: number + 1])
        enter_and_merge(window, bigrams.counts, number, number + 1)
        after = clusters_at(words, window.places[:-2])
        best = loss_of_best(sentences, before, [cluster for cluster in before if cluster <= seen])
        assert len(after) == len(before) - 1
        assert information(sentences, of_clusters(after)) == pytest.approx(best, abs=CLOSE)


@given(texts, st.integers(2, 4), st.integers(0, 8), st.integers(1, 2))
def test_what_the_window_keeps_is_what_it_would_compute_anew(sentences, n_classes, n_steps, min_count):
    """To the last bit, so that a run that goes on from the places of the words is as one without interruption."""
    try:
        bigrams = count_bigrams(sentences, min_count)
    except ValueError:
        return
    n_words = len(bigrams.words)
    n_classes = min(n_classes, n_words)
    window = new_window(bigrams, first_places(n_words, n_classes), n_classes + 1)
    enter_and_merge(window, bigrams.counts, n_classes, min(n_classes + n_steps, n_words))
    anew = new_window(bigrams, window.places[:-2], n_classes + 1)
    for name in ("sizes", "after", "before"):
        assert np.array_equal(getattr(window, name), getattr(anew, name)), name
    pairs = list(combinations([place for place in range(n_classes + 1) if window.first[place] != -1], 2))
    gains = {pair: _gain(window, *pair) for pair in pairs}
    assert gains == {pair: _gain(anew, *pair) for pair in pairs}
    if pairs:
        # Of equal gains, the pair at the lowest places.
        assert _best_pair(window) == _best_pair(anew) == max(pairs, key=gains.__getitem__)


@given(texts, st.integers(2, 6), st.data())
def test_every_merge_of_the_tree_loses_the_least(sentences, n_classes, data):
    bigrams = count_bigrams(sentences)
    n_words = len(bigrams.words)
    n_classes = min(n_classes, n_words)
    others = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n_words, max_size=n_words))
    classes = np.array([*range(n_classes), *others[n_classes:]], np.int32)
    window = new_window(bigrams, classes, n_classes)
    merges = np.zeros((n_classes - 1, 2), np.int32)
    merge_pairs(window, merges)
    clusters = dict(enumerate(clusters_at(bigrams.words, classes)))
    for first, second in merges.tolist():
        best = loss_of_best(sentences, list(clusters.values()), list(clusters.values()))
        clusters[first] |= clusters.pop(second)
        assert information(sentences, of_clusters(clusters.values())) == pytest.approx(best, abs=CLOSE)
    assert len(clusters) == 1


@given(texts, st.integers(1, 6))
def test_names_are_a_prefix_code(sentences, n_classes):
    bigrams = count_bigrams(sentences)
    classes = np.arange(len(bigrams.words)) % n_classes
    names = bit_strings(bigrams, classes)
    assert len(names) == classes.max() + 1 and all(set(name) <= {"0", "1"} and name for name in names)
    for one, other in combinations(names, 2):
        assert not one.startswith(other) and not other.startswith(one)
    # Every path is taken: the shares of all binary strings that begin with one of them add up to 1.
    assert len(names) == 1 or sum(2.0 ** -len(name) for name in names) == 1
