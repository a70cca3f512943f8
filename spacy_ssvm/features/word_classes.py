"""Word classes in a model file and in use: the Brown cluster of a word, the tags that a lexicon gives it.

Importing this module does not import numba.
"""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id

from ..word_forms import looked_up_as
from .compressed import compressed, compressed_ascending, decompressed, decompressed_ascending

_FACTOR = 0x9E3779B97F4A7C15
"""A word is known by the high 32 bits of its key times this, modulo 2⁶⁴, as spaCy's own symbols, such as "NOUN"
and "agent", have small numbers for keys. One in 8,600 other words passes for one of 500,000 known ones."""


def pack(classes: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
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
    """The classes of words, from what `pack` returns or a model file has.

    names: source → the names of its classes; the first one is that of words without a class, and empty.

    Raises:
        ValueError: neither has made these arrays.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.names: dict[str, list[str]] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._hashes = np.zeros(0, np.uint32)
        self._last: tuple[int | None, list[int]] = None, []
        try:
            # Earlier versions store the clusters of a single file, as two arrays.
            if "words" in stored:
                stored = pack({"cluster": dict(zip(stored["words"].tolist(), stored["names"], strict=True))})
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
            self._numbers[source] = found.astype(np.uint16 if len(names) < 1 << 16 else np.uint32)

    @property
    def n_words(self) -> int:
        """The number of words that have a class of any source."""
        return len(self._hashes)

    def class_of(self, source: str, lexeme: Lexeme) -> str:
        """The name of the word's class; empty if it has none, or the source is unknown."""
        return self.names.get(source, [""])[self._number(source, lexeme)]

    def key(self, source: str, prefix: int) -> Callable[[Lexeme], int]:
        """A function that returns the key of the first `prefix` characters of a word's class; prefix = 0: of all."""
        keys = [int(get_string_id(name[: prefix or None])) for name in self.names.get(source, [""])]
        keys[0] = 0

        def read(lexeme: Lexeme) -> int:
            return keys[self._number(source, lexeme)]

        return read

    def _number(self, source: str, lexeme: Lexeme) -> int:
        numbers = self._numbers.get(source)
        if numbers is None:
            return 0
        return next((int(numbers[place]) for place in self._places(lexeme) if numbers[place]), 0)

    def _places(self, lexeme: Lexeme) -> list[int]:
        """The places of the forms that are known, in the order in which they count."""
        orth, places = self._last
        if orth != lexeme.orth:
            keys = np.array([get_string_id(form) for form in looked_up_as(lexeme.text)], np.uint64)
            wanted = (keys * np.uint64(_FACTOR) >> np.uint64(32)).astype(np.uint32)
            found = np.searchsorted(self._hashes, wanted).tolist()
            places = [at for at, key in zip(found, wanted) if at < len(self._hashes) and self._hashes[at] == key]
            # All classes of a word are read one after the other.
            self._last = lexeme.orth, places
        return places
