"""The exchange algorithm: each word moves to the class where it raises the likelihood of a class bigram model the most.

Kneser & Ney (1993), Martin, Liermann & Ney (1998). That likelihood is the mutual information of neighbouring classes,
but for a constant. A prior of the words' spellings can be added. The best classes of a batch of words are found for the
same clustering, by all threads, and each word of the batch then moves if that still is a gain.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..kernels import Int32Array, Int32Array2d, Int64Array, kernel
from ..threads import in_threads
from .bigrams import UNIT, Bigrams, Neighbours, table_of_terms, term
from .spelling import SMOOTHING, Spellings

BATCH = 256
"""Words whose best classes are found for the same clustering, with any number of threads."""
SHARE = 32
"""The number of words of a batch that a thread takes at a time: the first words have far more neighbours."""
MAX_SWEEPS = 12
MIN_MOVES = 0.002
"""The share of the words that must move in a sweep for another one to follow."""


class Clustering(NamedTuple):
    """The words in C classes, 0 … C − 1, and two classes that no word moves to: C, of words without a class, and C + 1,
    of boundaries.

    Attributes:
        right, left: the neighbours of all words.
        counts: int64 [V + 2].
        classes: int32 [V + 2].
        sizes: int64 [C + 2], the number of occurrences of the words of each class.
        after: int32 [C + 2, C + 2], after[c, d] is how often d stands to the right of c.
        before: its transpose.
        terms: f(n).
        spellings: the words' paths.
        spelt: int32 [M, C + 2], how many words of a class have a node on their path.
    """

    right: Neighbours
    left: Neighbours
    counts: Int64Array
    classes: Int32Array
    sizes: Int64Array
    after: Int32Array2d
    before: Int32Array2d
    terms: Int64Array
    spellings: Spellings
    spelt: Int32Array2d


Stage = Literal["window", "sweeps", "finished"]
STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True)
class State:
    """The progress of learning classes.

    Attributes:
        stage: the next one.
        sweep: the number of the sweep, from 0.
        word: the next one.
        moved: how many words have moved in this sweep.
        classes: int32 [V], the places or classes of the words, as the stage understands them; in sweeps, C for words
            without a class yet.
    """

    stage: Stage
    sweep: int
    word: int
    moved: int
    classes: np.ndarray


def exchange(
    bigrams: Bigrams, n_classes: int, spellings: Spellings, start: State, n_threads: int = 1
) -> Iterator[State]:
    """Move words between classes until hardly any moves; yields the state to resume from after each batch.

    Memory: 8 bytes for each pair of classes, and 4 for each class and node of the spellings.
    """
    clustering = _new_clustering(bigrams, n_classes, spellings, start.classes)
    n_words, stage, sweep, word, moved = len(bigrams.words), start.stage, start.sweep, start.word, start.moved
    while stage != "finished":
        end = min(word + BATCH, n_words)
        cuts = [*range(word, end, SHARE), end]
        found = in_threads(n_threads, partial(_find_classes, clustering), list(pairwise(cuts)))
        moved += _move_words(clustering, word, np.concatenate(found))
        word = end
        if word == n_words:
            if moved <= MIN_MOVES * n_words or sweep + 1 >= MAX_SWEEPS:
                stage = "finished"
            sweep, word, moved = sweep + 1, 0, 0
        yield State(stage, sweep, word, moved, clustering.classes[:-2])


def _new_clustering(bigrams: Bigrams, n_classes: int, spellings: Spellings, classes: np.ndarray) -> Clustering:
    clustering = Clustering(
        right=bigrams.right,
        left=bigrams.left,
        counts=bigrams.counts,
        classes=np.concatenate([classes, [n_classes, n_classes + 1]]).astype(np.int32),
        sizes=np.zeros(n_classes + 2, np.int64),
        after=np.zeros((n_classes + 2, n_classes + 2), np.int32),
        before=np.zeros((n_classes + 2, n_classes + 2), np.int32),
        terms=table_of_terms(bigrams.n_pairs),
        spellings=spellings,
        spelt=np.zeros((len(spellings.shares), n_classes + 2), np.int32),
    )
    _count(clustering)
    return clustering


@kernel
def _count(clustering):
    """Fill all counts from the classes of the words."""
    classes, right, spellings = clustering.classes, clustering.right, clustering.spellings
    for word in range(len(classes)):
        c = classes[word]
        clustering.sizes[c] += clustering.counts[word]
        for at in range(right.starts[word], right.starts[word + 1]):
            d = classes[right.words[at]]
            clustering.after[c, d] += right.counts[at]
            clustering.before[d, c] += right.counts[at]
    for word in range(len(classes) - 2):
        for at in range(spellings.starts[word], spellings.starts[word + 1]):
            clustering.spelt[spellings.nodes[at], classes[word]] += 1


def _find_classes(clustering: Clustering, part: tuple[int, int]) -> np.ndarray:
    """The best classes of the words from part[0] to part[1] − 1, if each of them alone moved."""
    found = np.empty(part[1] - part[0], np.int32)
    _find_best(clustering, part[0], found)
    return found


@kernel
def _classes_of_neighbours(clustering, neighbours, word, column, touched):
    """Count the classes of a word's neighbours other than itself.

    Args:
        column: int64 [C + 2], 0 at first.
        touched: int32 [C + 2], the classes that are met.

    Returns:
        Their number, and how often the word is its own neighbour.
    """
    n, itself = 0, 0
    for at in range(neighbours.starts[word], neighbours.starts[word + 1]):
        if neighbours.words[at] == word:
            itself = np.int64(neighbours.counts[at])
            continue
        c = clustering.classes[neighbours.words[at]]
        if column[c] == 0:
            touched[n] = c
            n += 1
        column[c] += neighbours.counts[at]
    return n, itself


@kernel
def _find_best(clustering, first, found):
    """For the words from `first` on: the best class of each; of equally good ones its own, or else the lowest."""
    size, terms = len(clustering.sizes), clustering.terms
    to_right, to_left = np.zeros(size, np.int64), np.zeros(size, np.int64)
    rights, lefts, scores = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    for k in range(len(found)):
        word = first + k
        own, count = clustering.classes[word], clustering.counts[word]
        n_rights, itself = _classes_of_neighbours(clustering, clustering.right, word, to_right, rights)
        n_lefts, itself = _classes_of_neighbours(clustering, clustering.left, word, to_left, lefts)
        scores[:] = 0
        _add_side(terms, to_right, rights[:n_rights], clustering.before, own, to_left, scores)
        _add_side(terms, to_left, lefts[:n_lefts], clustering.after, own, to_right, scores)
        best, highest = own, np.iinfo(np.int64).min
        if own < size - 2:
            highest = _score(clustering, word, own, to_right, rights[:n_rights], to_left, lefts[:n_lefts], itself)
        for c in range(size - 2):
            if c == own:
                continue
            pairs, n = np.int64(clustering.after[c, c]), clustering.sizes[c]
            score = scores[c] - _rise(terms, pairs, to_right[c]) - _rise(terms, pairs, to_left[c])
            score += _rise(terms, pairs, to_right[c] + to_left[c] + itself) - 2 * _rise(terms, n, count)
            score += _spelling_score(clustering, word, c)
            if score > highest:
                best, highest = c, score
        found[k] = best
        to_right[rights[:n_rights]] = 0
        to_left[lefts[:n_lefts]] = 0


@kernel
def _rise(terms, n, k):
    """f(n + k) − f(n)."""
    return term(terms, n + k) - term(terms, n)


@kernel
def _add_side(terms, column, touched, numbers, own, opposite, scores):
    """Add the gain from a word's neighbours on one side to each class's score; for its own class, garbage.

    Args:
        column: how often each class is there, opposite: on the other side. numbers[d, c]: how often class d stands on
            this side of c, the word included.
    """
    constant = 0
    for d in touched:
        k = column[d]
        new = term(terms, k)
        constant += new
        for c in range(len(scores)):
            n = np.int64(numbers[d, c])
            if d == own:
                n = max(n - opposite[c], 0)
            if n > 0:
                scores[c] += term(terms, n + k) - term(terms, n) - new
    for c in range(len(scores)):
        scores[c] += constant


@kernel
def _score(clustering, word, c, to_right, rights, to_left, lefts, itself):
    """The rise of N times the mutual information, and of the prior, by a word in class c, once taken out of its own.

    Args:
        to_right, to_left: how often each class is its neighbour.
        rights, lefts: the classes that are.
        itself: how often the word is its own neighbour.
    """
    own, count, terms = clustering.classes[word], clustering.counts[word], clustering.terms
    score = _spelling_score(clustering, word, c)
    for d in rights:
        if d != c:
            n = np.int64(clustering.after[c, d])
            n -= to_right[d] if c == own else to_left[c] if d == own else 0
            score += _rise(terms, n, to_right[d])
    for d in lefts:
        if d != c:
            n = np.int64(clustering.before[c, d])
            n -= to_left[d] if c == own else to_right[c] if d == own else 0
            score += _rise(terms, n, to_left[d])
    pairs, n = np.int64(clustering.after[c, c]), clustering.sizes[c]
    new = to_right[c] + to_left[c] + itself
    if c == own:
        pairs -= new
        n -= count
    return score + _rise(terms, pairs, new) - 2 * _rise(terms, n, count)


@kernel
def _spelling_score(clustering, word, c):
    """The logarithm of the probability that class c, without the word, spells it."""
    spellings, spelt = clustering.spellings, clustering.spelt
    itself = 1 if clustering.classes[word] == c else 0
    score = 0.0
    for at in range(spellings.starts[word] + 1, spellings.starts[word + 1]):
        node = spellings.nodes[at]
        before, there = spelt[spellings.nodes[at - 1], c] - itself, spelt[node, c] - itself
        score += math.log2((there + SMOOTHING * spellings.shares[node]) / (before + SMOOTHING))
    return np.int64(np.rint(score * UNIT))


@kernel
def _move_words(clustering, first, found):
    """Move the words from `first` on to the classes found for them, where this is a gain; returns their number."""
    size, moved = len(clustering.sizes), 0
    to_right, to_left = np.zeros(size, np.int64), np.zeros(size, np.int64)
    rights, lefts = np.empty(size, np.int32), np.empty(size, np.int32)
    for k in range(len(found)):
        word, c = first + k, found[k]
        own = clustering.classes[word]
        if c == own:
            continue
        n_rights, itself = _classes_of_neighbours(clustering, clustering.right, word, to_right, rights)
        n_lefts, itself = _classes_of_neighbours(clustering, clustering.left, word, to_left, lefts)
        r, le = rights[:n_rights], lefts[:n_lefts]
        gains = own >= size - 2
        if not gains:
            score = _score(clustering, word, own, to_right, r, to_left, le, itself)
            gains = _score(clustering, word, c, to_right, r, to_left, le, itself) > score
        if gains:
            _move(clustering, word, c, to_right, r, to_left, le, itself)
            moved += 1
        to_right[r] = 0
        to_left[le] = 0
    return moved


@kernel
def _move(clustering, word, c, to_right, rights, to_left, lefts, itself):
    own, after, before = clustering.classes[word], clustering.after, clustering.before
    for d in rights:
        after[own, d] -= to_right[d]
        before[d, own] -= to_right[d]
        after[c, d] += to_right[d]
        before[d, c] += to_right[d]
    for d in lefts:
        after[d, own] -= to_left[d]
        before[own, d] -= to_left[d]
        after[d, c] += to_left[d]
        before[c, d] += to_left[d]
    after[own, own] -= itself
    before[own, own] -= itself
    after[c, c] += itself
    before[c, c] += itself
    clustering.sizes[own] -= clustering.counts[word]
    clustering.sizes[c] += clustering.counts[word]
    clustering.classes[word] = c
    spellings = clustering.spellings
    for at in range(spellings.starts[word], spellings.starts[word + 1]):
        clustering.spelt[spellings.nodes[at], own] -= 1
        clustering.spelt[spellings.nodes[at], c] += 1
