"""Word classes in a model file and in use: the Brown cluster of a word, the tags that a lexicon gives it.

Importing this module does not import numba.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id

from ..word_forms import looked_up_as
from .compressed import compressed, compressed_ascending, decompressed, decompressed_ascending

_FACTOR = 0x9E3779B97F4A7C15
"""A word is known by the high 32 bits of its key times this, modulo 2⁶⁴, as spaCy's own symbols, such as "NOUN"
and "agent", have small numbers for keys. One in 8,600 other words passes for one of 500,000 known ones."""


def pack_classes(classes: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    """The classes of some sources, word key → class, as a model file stores them.

    All sources share one list of words. Returns "hashes", the differences of the ascending hashes as compressed planes
    of bytes, and "sources": name → [names of its classes, compressed planes of 1 + the number of each word's class].
    """
    words = np.array(sorted({word for known in classes.values() for word in known}), np.uint64)
    hashes, first = np.unique(words * np.uint64(_FACTOR) >> np.uint64(32), return_index=True)
    kept = words[first].tolist()
    sources = {}
    for source, known in classes.items():
        names = sorted(set(known.values()))
        number = {name: place for place, name in enumerate(names, 1)}
        numbers = np.array([number[known[word]] if word in known else 0 for word in kept], np.uint32)
        sources[source] = [names, compressed(numbers)]
    return {"hashes": compressed_ascending(hashes), "sources": sources}


class WordClasses:
    """The classes of words, from what `pack_classes` returns or a model file has.

    names: source → the names of its classes; the first one is that of words without a class, and empty.

    Raises:
        ValueError: `pack` has not made these arrays.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.names: dict[str, list[str]] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._hashes = np.zeros(0, np.uint32)
        self._last: tuple[tuple[int, ...] | None, np.ndarray] = None, np.zeros((0, 1), np.int64)
        try:
            if stored:
                self._load(stored)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, zlib.error) as error:
            raise ValueError("the model file has damaged word classes") from error

    def _load(self, stored: Mapping[str, Any]) -> None:
        hashes = decompressed_ascending(stored["hashes"])
        self._hashes = hashes.astype(np.uint32)
        for source, (names, numbers) in stored["sources"].items():
            if not all(isinstance(name, str) for name in (source, *names)):
                raise ValueError("a name is no string")
            found = decompressed(numbers)
            if found.shape != hashes.shape or found.max(initial=0) > len(names):
                raise ValueError("a word has an unknown class")
            self.names[source] = ["", *names]
            # The last place is that of unknown words.
            self._numbers[source] = np.append(found, 0).astype(np.uint16 if len(names) < 1 << 16 else np.uint32)

    @property
    def n_words(self) -> int:
        """The number of words that have a class of any source."""
        return len(self._hashes)

    def class_of(self, source: str, lexeme: Lexeme) -> str:
        """The name of the word's class; empty if it has none, or the source is unknown."""
        return self.names.get(source, [""])[int(self._numbers_of(source, [lexeme])[0])]

    def keys(self, source: str, prefix: int) -> Callable[[Sequence[Lexeme]], np.ndarray]:
        """A function that returns the keys of the first `prefix` characters of words' classes, uint64; 0: of all."""
        names = self.names.get(source, [""])
        keys = np.array([0, *(get_string_id(name[: prefix or None]) for name in names[1:])], np.uint64)

        def read(lexemes: Sequence[Lexeme]) -> np.ndarray:
            return keys[self._numbers_of(source, lexemes)]

        return read

    def _numbers_of(self, source: str, lexemes: Sequence[Lexeme]) -> np.ndarray:
        """The numbers of the words' classes, [n]; 0 for none. Of a word's forms, the first one with a class counts."""
        if source not in self._numbers:
            return np.zeros(len(lexemes), np.int64)
        found = self._numbers[source][self._places(lexemes)]
        chosen: np.ndarray = found[np.arange(len(found)), (found != 0).argmax(axis=1)]
        return chosen

    def _places(self, lexemes: Sequence[Lexeme]) -> np.ndarray:
        """The places of the words' forms, int64 [n, forms], in the order in which they count; the last for unknown."""
        orths = tuple(lexeme.orth for lexeme in lexemes)
        known, places = self._last
        if known != orths:
            forms = [looked_up_as(lexeme.text) for lexeme in lexemes]
            width = max(map(len, forms), default=1)
            # A word with fewer forms has its last one several times.
            keys = [
                get_string_id(form) for of_word in forms for form in of_word + of_word[-1:] * (width - len(of_word))
            ]
            hashes = (np.array(keys, np.uint64) * np.uint64(_FACTOR) >> np.uint64(32)).astype(np.uint32)
            found = np.searchsorted(self._hashes, hashes)
            is_known = np.append(self._hashes, np.uint32(0))[found] == hashes
            places = np.where(is_known & (found < len(self._hashes)), found, len(self._hashes)).reshape(-1, width)
            # All classes of the words are read one after the other.
            self._last = orths, places
        return places
