"""Word types: attributes of words without their Docs, read once for all components of a pipeline."""

from collections.abc import Collection, Sequence
from threading import Lock
from typing import Any, NamedTuple, cast
from weakref import WeakValueDictionary

import numpy as np
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..growth import widened
from ..kernels import kernel
from .index import Table, empty_table, grown, insert, n_rows
from .word_keys import keys_of_words


class Foreign(NamedTuple):
    """Tokens of Docs of another vocabulary. strings: theirs. vocab: the one that knows their words."""

    tokens: slice
    strings: StringStore
    vocab: Vocab


def foreign(docs: Sequence[Doc], vocab: Vocab) -> tuple[Vocab, list[Foreign]]:
    """The vocabulary that Docs share, or else the given one, and the tokens of all Docs that have another one.

    For a Doc whose vocabulary computes no attributes of words, such as `Vocab()`, the given one computes them.
    """
    known = [knowing(doc.vocab, vocab) for doc in docs]
    own = known[0] if known and all(theirs is known[0] for theirs in known) else vocab
    found: list[Foreign] = []
    first = 0
    for doc, theirs in zip(docs, known):
        end = first + len(doc)
        if doc.vocab is not own:
            found.append(Foreign(slice(first, end), doc.vocab.strings, theirs))
        first = end
    return own, found


def knowing(vocab: Vocab, other: Vocab) -> Vocab:
    """This vocabulary, or the other one if this one computes no attributes of words."""
    return vocab if cast(Any, vocab).lex_attr_getters else other


def text_of(key: int, docs: Sequence[Doc]) -> str:
    """The string with this key, in the vocabulary of one of these Docs."""
    stores = (cast(Any, doc.vocab.strings) for doc in docs)
    return next((strings[key] for strings in stores if key in strings), "")


MAX_TYPES = 1 << 20
"""A `WordTypes` with more types is cleared, so that memory is bounded on endless text."""

MAX_VOCABULARIES = 8
"""So is one with the words of more vocabularies, which it keeps alive."""

_OF_VOCABULARY = 0x9E3779B97F4A7C15
"""The keys of a word in several vocabularies differ by multiples of this."""


@kernel
def _intern(table, words, ids, new):
    """Write the ids, int64 [T], of word keys, uint64 [T], and the first places of new keys. Returns the number of new
    keys."""
    n_new = 0
    for token in range(len(words)):
        before = table.counts[0]
        ids[token] = insert(table, words[token])
        if table.counts[0] > before:
            new[n_new] = token
            n_new += 1
    return n_new


class Generation:
    """Word types that were numbered together; data stored about them should not outlive it."""


class Types(NamedTuple):
    """The word types of T tokens.

    Attributes:
        ids: int64 [T], the type of each token, below V.
        keys: uint64 [attributes, V], of all types so far; callers must not modify them.
        rows: attribute → row of `keys`.
        generation: equal ids of the same generation are the same type.
    """

    ids: np.ndarray
    keys: np.ndarray
    rows: dict[str, int]
    generation: Generation

    def of(self, attribute: str) -> np.ndarray:
        """The keys of an attribute, uint64 [V]."""
        keys: np.ndarray = self.keys[self.rows[attribute]]
        return keys


class WordTypes:
    """The keys of attributes that readers have asked for, for each word type of a vocabulary read so far.

    A word that another vocabulary knows is of another type. Several threads may read.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._lock = Lock()
        self._vocab = vocab
        self._rows: dict[str, int] = {}
        self._table: Table
        self._keys: np.ndarray
        self._vocabs: list[Vocab]
        self._generation: Generation
        self._start_anew()

    def read(self, words: np.ndarray, attributes: Collection[str], foreign: Sequence[Foreign] = ()) -> Types:
        """The types of the words with these keys, uint64 [T], with these attributes at least.

        Args:
            attributes: as `keys_of_words` has them.
            foreign: words that are not of this vocabulary.
        """
        with self._lock:
            if not self._rows.keys() >= set(attributes):
                self._rows = {name: row for row, name in enumerate(dict.fromkeys([*self._rows, *attributes]))}
                self._start_anew()
            if n_rows(self._table) > MAX_TYPES or len(self._vocabs) > MAX_VOCABULARIES:
                self._start_anew()
            needed = 2 * (n_rows(self._table) + len(words))
            if needed > len(self._table.keys):
                self._table = grown(self._table, 1 << needed.bit_length())
            ids, new, known = np.empty(len(words), np.int64), np.empty(len(words), np.int64), n_rows(self._table)
            n_new = _intern(self._table, self._keys_in(words, foreign), ids, new)
            end = known + n_new
            if n_new:
                try:
                    self._keys = widened(self._keys, known, end)
                    self._keys[:, known:end] = self._read_new(words, new[:n_new], foreign)
                except BaseException:
                    self._start_anew()
                    raise
            return Types(ids, self._keys[:, :end], self._rows, self._generation)

    def forget(self) -> None:
        """Forget all types; they are numbered from 0 again."""
        with self._lock:
            self._start_anew()

    def _start_anew(self) -> None:
        self._table = empty_table()
        self._keys = np.zeros((len(self._rows), 0), np.uint64)
        self._vocabs = [self._vocab]
        self._generation = Generation()

    def _keys_in(self, words: np.ndarray, foreign: Sequence[Foreign]) -> np.ndarray:
        """The keys of these words in their vocabularies, uint64 [T]; a word of the first one keeps its key."""
        if not foreign:
            return words
        salts = np.zeros(len(words), np.uint64)
        for part in foreign:
            if not any(known is part.vocab for known in self._vocabs):
                self._vocabs.append(part.vocab)
            number = next(number for number, known in enumerate(self._vocabs) if known is part.vocab)
            salts[part.tokens] = number * _OF_VOCABULARY % (1 << 64)
        return words ^ salts

    def _read_new(self, words: np.ndarray, new: np.ndarray, foreign: Sequence[Foreign]) -> np.ndarray:
        """The keys of the words at these places, int64 [n], uint64 [attributes, n]."""
        keys = np.empty((len(self._rows), len(new)), np.uint64)
        is_own = np.ones(len(new), np.bool_)
        groups = []
        for part in foreign:
            inside = (part.tokens.start <= new) & (new < part.tokens.stop)
            is_own &= ~inside
            groups.append((inside, part.strings, part.vocab))
        for chosen, strings, vocab in [(is_own, self._vocab.strings, self._vocab), *groups]:
            texts = [strings[word] for word in words[new[chosen]].tolist()]
            if texts:
                keys[:, chosen] = keys_of_words(tuple(self._rows), texts, vocab)
        return keys


_KNOWN: WeakValueDictionary[int, WordTypes] = WeakValueDictionary()
"""By the identity of their vocabularies, which they keep alive."""
_LOCK = Lock()


def word_types(vocab: Vocab) -> WordTypes:
    """The word types of a vocabulary, for as long as someone has them."""
    with _LOCK:
        found = _KNOWN.get(id(vocab))
        if found is None:
            found = _KNOWN[id(vocab)] = WordTypes(vocab)
        return found
