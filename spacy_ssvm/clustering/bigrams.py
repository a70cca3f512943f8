"""Counts of words and of pairs of neighbours in sentences, and the mutual information of classes: the objective.

With the number n(c, d) of pairs of neighbours of classes c and d, the number n(c) of occurrences of words of class c,
and N pairs in all, their average mutual information is 1/N times Σ f(n(c, d)) − 2 Σ f(n(c)) + f(N), where
f(n) = n log₂ n (Brown et al. 1992). The algorithms add and subtract values of f as integers: sums are exact in any
order, and ties are ties.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from ..kernels import Int32Array, Int64Array, kernel
from ..word_forms import normalised

MAX_PAIRS = (1 << 31) - 1
"""Counts are stored in 32 bits."""
_CHUNK = 1 << 20
"""Tokens whose pairs are counted at a time."""
_BOUNDARY = 0
_SKIPPED = -1


class Neighbours(NamedTuple):
    """The neighbours of each of n words on one side: of word w, entries starts[w] … starts[w + 1] − 1.

    Attributes:
        starts: int64 [n + 1].
        words: int32 [E], ascending for each word.
        counts: int32 [E], how often each occurs there.
    """

    starts: Int64Array
    words: Int32Array
    counts: Int32Array


@dataclass(frozen=True)
class Bigrams:
    """Counts of a text of V words.

    The text is one stream, with a boundary before its first sentence and after each. Two entries follow the words: V
    stands for all words that are too rare to be one of them, V + 1 for the boundary.

    Attributes:
        words: the words, normalised, most frequent first.
        counts: int64 [V + 2].
        right, left: the neighbours to the right and to the left of each of the V + 2 entries.
    """

    words: list[str]
    counts: np.ndarray
    right: Neighbours
    left: Neighbours

    @property
    def n_pairs(self) -> int:
        """The number of pairs of neighbours: the tokens plus the sentences."""
        return int(self.counts.sum())

    def digest(self) -> str:
        """SHA-256 of all that a clustering depends on."""
        digest = sha256("\n".join(self.words).encode("utf8", "surrogatepass"))
        for array in (self.counts, *self.right):
            digest.update(array.tobytes())
        return digest.hexdigest()


class _Numbers(dict):
    """Word as written → number of its normalised form, from 1, in the order of first appearance."""

    def __init__(self) -> None:
        self.forms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        form = normalised(word)
        number = _SKIPPED if not form or form.isspace() else self.forms.setdefault(form, len(self.forms) + 1)
        self[word] = number
        return number


class _Pairs:
    """Counts of pairs, left · 2³² + right, sorted; new ones are merged once they are half as many as the others."""

    def __init__(self) -> None:
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._new: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, stream: np.ndarray) -> None:
        """Count the pairs of neighbours in a stream of numbers."""
        self._new.append(np.unique((stream[:-1] << 32) | stream[1:], return_counts=True))
        if 2 * sum(len(keys) for keys, _ in self._new) > len(self._keys):
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._new)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._new)])
        self._keys, self._counts = _summed(keys, counts)
        self._new.clear()

    def all(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys and their counts."""
        self._merge()
        return self._keys, self._counts


def count_bigrams(sentences: Iterable[Iterable[str]], min_count: int = 1) -> Bigrams:
    """Count the words of some sentences, normalised, and the pairs of neighbours.

    Words that are nothing but whitespace are passed over. Words rarer than `min_count`, and words with a tab or a line
    break, which no line of a file could list, count as one word.

    Memory: some 100 bytes for each different pair, while pairs are merged, and 300 for each different word as written;
    the text is not kept.

    Raises:
        TypeError: a sentence is a string.
        ValueError: there is no word, all words are too rare, or there are more than 2³¹ − 1 pairs.
    """
    numbers, pairs = _Numbers(), _Pairs()
    stream, n_pairs = [_BOUNDARY], 0
    for sentence in sentences:
        if isinstance(sentence, str):
            raise TypeError(f"a sentence has to be a list of words, not a string: {sentence[:80]!r}")
        found = [number for word in sentence if (number := numbers[word]) != _SKIPPED]
        if found:
            stream += found
            stream.append(_BOUNDARY)
        if len(stream) > _CHUNK:
            pairs.add(np.array(stream, np.int64))
            n_pairs += len(stream) - 1
            del stream[:-1]
    pairs.add(np.array(stream, np.int64))
    n_pairs += len(stream) - 1
    if not numbers.forms:
        raise ValueError("there is no word in the text: nothing can be clustered")
    if n_pairs > MAX_PAIRS:
        raise ValueError(f"the text has {n_pairs:,} words and sentences; the limit is {MAX_PAIRS:,}: give less of it")
    return _numbered_by_count(list(numbers.forms), *pairs.all(), min_count)


def _numbered_by_count(forms: list[str], keys: np.ndarray, counts: np.ndarray, min_count: int) -> Bigrams:
    left, right = keys >> 32, keys & 0xFFFFFFFF
    frequencies = np.bincount(left, counts, len(forms) + 1).astype(np.int64)
    kept = [number for number, form in enumerate(forms, 1) if frequencies[number] >= min_count and _can_be_listed(form)]
    if not kept:
        raise ValueError(f"no word occurs {min_count} times or more in the text: lower the minimum count")
    kept.sort(key=lambda number: (-frequencies[number], forms[number - 1]))
    n_words = len(kept)
    new = np.full(len(forms) + 1, n_words)
    new[kept] = np.arange(n_words)
    new[_BOUNDARY] = n_words + 1
    left, right = new[left], new[right]
    return Bigrams(
        [forms[number - 1] for number in kept],
        np.bincount(left, counts, n_words + 2).astype(np.int64),
        _neighbours(left, right, counts, n_words + 2),
        _neighbours(right, left, counts, n_words + 2),
    )


def _can_be_listed(form: str) -> bool:
    return "\t" not in form and form.splitlines() == [form]


def _neighbours(words: np.ndarray, others: np.ndarray, counts: np.ndarray, n: int) -> Neighbours:
    keys, counts = _summed(words << 32 | others, counts)
    starts = np.searchsorted(keys, np.arange(n + 1) << 32)
    return Neighbours(starts.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32))


def _summed(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys, ascending, and the sum of the counts of each."""
    if not len(keys):
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[firsts], np.add.reduceat(counts[order], firsts)


FRACTION_BITS = 20
"""Bits of f(n) after the point: all f(n) of a text of 2³¹ tokens, and their sums, fit into 64 bits."""
UNIT = float(1 << FRACTION_BITS)
MAX_TABLE = 1 << 20
"""The number of values of f in the table; larger arguments are rare, and their values are computed."""


def table_of_terms(n_pairs: int) -> np.ndarray:
    """f(0), f(1), … in units of 2⁻²⁰, up to f(n_pairs) or MAX_TABLE of them: int64 [min(n_pairs + 1, MAX_TABLE)]."""
    numbers = np.arange(1, min(n_pairs + 1, MAX_TABLE))
    return np.concatenate([[0], np.rint(numbers * np.log2(numbers) * UNIT)]).astype(np.int64)


@kernel
def term(terms, n):
    """f(n), looked up or, if the table is too short, computed. terms: the result of `table_of_terms`."""
    if n < len(terms):
        return terms[n]
    return np.int64(np.rint(n * math.log2(n) * UNIT))


def average_mutual_information(bigrams: Bigrams, classes: np.ndarray) -> float:
    """Average mutual information of neighbouring classes, in bits.

    Args:
        classes: int [V], the class of each word. Rare words are a class of their own, and so are boundaries.
    """
    first = int(classes.max(initial=-1)) + 1
    of_entry = np.concatenate([classes, [first, first + 1]]).astype(np.int64)
    lefts = np.repeat(of_entry, np.diff(bigrams.right.starts))
    pairs, inverse = np.unique(lefts << 32 | of_entry[bigrams.right.words], return_inverse=True)
    of_pairs = np.bincount(inverse, bigrams.right.counts, len(pairs))
    of_classes = np.bincount(of_entry, bigrams.counts)
    total = float(bigrams.n_pairs)
    return float((_term(of_pairs).sum() - 2 * _term(of_classes).sum() + _term(np.array([total])).sum()) / total)


def _term(numbers: np.ndarray) -> np.ndarray:
    return numbers * np.log2(np.maximum(numbers, 1))
