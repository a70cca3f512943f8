"""Attributes of word types, computed once per type and gathered per token."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.lexeme import Lexeme
from spacy.vocab import Vocab

from ..kernels import kernel
from .hashing import Table, insert
from .index import empty_table, grown, n_rows

MAX_TYPES = 1 << 20
"""The table starts anew beyond this: memory stays bounded on endless text."""


@kernel
def _intern(table, orths, ids, new):
    """Ids int64 [T] of word keys uint64 [T], and the keys met first; returns how many those are."""
    found = 0
    for token in range(len(orths)):
        before = table.counts[0]
        ids[token] = insert(table, orths[token])
        if table.counts[0] > before:
            new[found] = orths[token]
            found += 1
    return found


class Types(NamedTuple):
    """The word types of T tokens.

    ids: int64 [T], of the tokens, below V. keys: uint64 [attributes, V], of all types so far; not to be written to.
    generation: ids of one generation mean the same types.
    """

    ids: np.ndarray
    keys: np.ndarray
    generation: int


class TypeTable:
    """Keys of `attributes`, functions of a Lexeme, for each word type met so far."""

    def __init__(self, attributes: Sequence[Callable[[Lexeme], int]]) -> None:
        self._attributes = tuple(attributes)
        self._table: Table
        self._keys: np.ndarray
        self._generation = 0
        self.clear()

    def read(self, orths: np.ndarray, vocab: Vocab) -> Types:
        """The types of the words with these keys, uint64 [T]."""
        if n_rows(self._table) > MAX_TYPES:
            self.clear()
        self._make_room(len(orths))
        ids = np.empty(len(orths), np.int64)
        new = np.empty(len(orths), np.uint64)
        known = n_rows(self._table)
        n_new = _intern(self._table, orths, ids, new)
        if n_new:
            try:
                self._read_new(known, new[:n_new], vocab)
            except BaseException:
                self.clear()
                raise
        return Types(ids, self._keys[:, : known + n_new], self._generation)

    def clear(self) -> None:
        """Forget all types: those that come get ids from 0 on again."""
        self._table = empty_table()
        self._keys = np.zeros((len(self._attributes), 0), np.uint64)
        self._generation += 1

    def _read_new(self, known: int, orths: np.ndarray, vocab: Vocab) -> None:
        if known + len(orths) > self._keys.shape[1]:
            roomy = np.zeros((len(self._attributes), 2 * (known + len(orths))), np.uint64)
            roomy[:, :known] = self._keys[:, :known]
            self._keys = roomy
        for place, orth in enumerate(orths, known):
            lexeme = vocab[int(orth)]
            self._keys[:, place] = [attribute(lexeme) for attribute in self._attributes]

    def _make_room(self, n_tokens: int) -> None:
        needed = 2 * (n_rows(self._table) + n_tokens)
        if needed > len(self._table.keys):
            self._table = grown(self._table, 1 << needed.bit_length())
