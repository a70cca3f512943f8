"""Gazetteers: lists of phrases of one or more tokens, and their longest matches in a text."""

from collections.abc import Callable, Iterable

import numpy as np
from spacy.strings import get_string_id

from ..kernels import kernel
from .compressed import compressed_ascending, decompressed_ascending
from .gazetteer_sources import PhraseSource
from .hashing import ABSENT
from .index import Table, insert, insert_all, look_up, low_bits, mix, new_table, row_keys

SINGLE, FIRST, INSIDE, LAST = 1, 2, 3, 4
"""Marks of a token by its position in a matched phrase; 0 outside of matches."""
_SEED = np.uint64(0xC2B2AE3D27D4EB4F)
_END = np.uint64(1)
_BITS = 32
"""Low bits that a hash is known by. Two hashes have to be mistaken before a token of no phrase is marked."""


@kernel
def _add_phrase(table, words):
    """Insert the hash of every prefix of a phrase, and that of the whole phrase with an end mark."""
    state = _SEED
    for word in words:
        state = mix(state, word)
        insert(table, low_bits(state, _BITS))
    insert(table, low_bits(mix(state, _END), _BITS))


@kernel
def mark_phrases(table, starts, lower, marks):
    """Mark leftmost-longest matches: SINGLE, or FIRST INSIDE … LAST; other tokens keep 0.

    starts: int64 [n + 1], first token of each sequence. lower: uint64 [T], keys of lower-cased words. marks: uint64
    [T], initially 0, output.
    """
    for sequence in range(len(starts) - 1):
        token = starts[sequence]
        while token < starts[sequence + 1]:
            state, at, end = _SEED, token, token
            while at < starts[sequence + 1]:
                state = mix(state, lower[at])
                if look_up(table, state) == ABSENT:
                    break
                at += 1
                if look_up(table, mix(state, _END)) != ABSENT:
                    end = at
            if end == token:
                token += 1
                continue
            if end == token + 1:
                marks[token] = SINGLE
            else:
                marks[token:end] = INSIDE
                marks[token] = FIRST
                marks[end - 1] = LAST
            token = end


def compile_gazetteer(phrases: Iterable[np.ndarray]) -> Table:
    """A hash table of all phrases, each given as a uint64 array of lower-cased word keys."""
    phrases = [phrase for phrase in phrases if len(phrase)]
    table = _empty(sum(len(phrase) + 1 for phrase in phrases))
    for phrase in phrases:
        _add_phrase(table, phrase)
    return table


def pack_gazetteer(table: Table) -> bytes:
    """A table of `compile_gazetteer` as a model file stores it."""
    # The hash of a reduced key is one less, so that it has 32 bits.
    return compressed_ascending(np.sort(row_keys(table)) - np.uint64(1))


def unpack_gazetteer(stored: bytes) -> Table:
    """The table that `pack_gazetteer` was given, up to the order of its rows, which says nothing.

    stored: checked by `resources.check_gazetteers`.
    """
    hashes = decompressed_ascending(stored)
    table = _empty(len(hashes))
    insert_all(table, hashes + np.uint64(1))
    return table


def _empty(n: int) -> Table:
    """A table with room for so many hashes."""
    return new_table(1 << max(4, (2 * n).bit_length()), _BITS)


def read_gazetteer(name: str, source: PhraseSource, words: Callable[[str], np.ndarray]) -> Table:
    """Read the phrases of a source; `words` turns a text into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: the source cannot be read or has no phrase.
    """
    try:
        phrases = list(source())
    except ValueError as error:
        raise ValueError(f'features.gazetteers: "{name}": {error}') from error
    keys = [words(phrase) if isinstance(phrase, str) else _lower_keys(phrase) for phrase in phrases]
    if not any(map(len, keys)):
        raise ValueError(f'features.gazetteers: "{name}" has no phrase: {source}')
    return compile_gazetteer(keys)


def _lower_keys(tokens: list[str]) -> np.ndarray:
    return np.array([get_string_id(token.lower()) for token in tokens], np.uint64)
