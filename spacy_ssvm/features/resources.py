"""The resources that templates read beside the Doc: gazetteers and word classes, as a model file stores them."""

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from spacy.vocab import Vocab

from .class_sources import Source
from .compressed import decompressed_ascending
from .gazetteer_sources import PhraseSource
from .word_classes import WordClasses, pack_classes


def load_gazetteers(sources: Mapping[str, PhraseSource], words: Callable[[str], np.ndarray]) -> dict[str, bytes]:
    """Read gazetteers, name → source.

    words: turns a phrase into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: a source cannot be read or has no phrase.
    """
    from .gazetteer import pack_gazetteer, read_gazetteer

    return {name: pack_gazetteer(read_gazetteer(name, source, words)) for name, source in sources.items()}


def load_classes(sources: Mapping[str, Source], vocab: Vocab) -> dict[str, Any]:
    """Ask all sources for their words' classes; empty without a source.

    Raises:
        ValueError: a source cannot be read or is malformed.
    """
    return pack_classes({name: source(vocab) for name, source in sources.items()}) if sources else {}


def stored_size(stored: Mapping[str, Any]) -> tuple[int, int]:
    """The number of words in what `load_classes` returns, and its size in bytes."""
    n_bytes = sum(len(numbers) + sum(map(len, names)) for names, numbers in stored["sources"].values())
    return WordClasses(stored).n_words, len(stored["hashes"]) + n_bytes


def check_gazetteers(stored: Mapping[str, Any]) -> None:
    """Check gazetteers from a model file, so that no kernel can leave the arrays' bounds or loop for ever.

    stored: name → what `load_gazetteers` returns; earlier versions store keys uint64 [n], rows int32 [n] and counts
    int64 [2] of a table, n a power of two.

    Raises:
        ValueError: neither has made these.
    """
    for name, arrays in stored.items():
        if isinstance(arrays, bytes):
            try:
                decompressed_ascending(arrays)
            except (ValueError, zlib.error) as error:
                raise ValueError(f'the model file has a damaged gazetteer "{name}"') from error
            continue
        tables = [array for array in arrays if isinstance(array, np.ndarray)]
        slots = len(tables[0]) if tables and tables[0].ndim else 0
        kinds = [(array.dtype, array.shape) for array in tables]
        expected = [(np.dtype(np.uint64), (slots,)), (np.dtype(np.int32), (slots,)), (np.dtype(np.int64), (2,))]
        if (
            len(arrays) != 3
            or kinds != expected
            or slots & (slots - 1)
            or not (tables[0] == 0).any()
            or tables[2][1] != 0
        ):
            raise ValueError(f'the model file has a damaged gazetteer "{name}"')


def stored_sources(stored: Mapping[str, Any]) -> list[str]:
    """The names of the word classes in a model file.

    Raises:
        ValueError: `load_classes` does not make such arrays.
    """
    return list(WordClasses(stored).names)
