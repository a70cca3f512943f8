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
    """Check gazetteers from a model file; stored: name → what `load_gazetteers` returns.

    Raises:
        ValueError: it has not made these.
    """
    for name, hashes in stored.items():
        try:
            decompressed_ascending(hashes)
        except (TypeError, ValueError, zlib.error) as error:
            raise ValueError(f'the model file has a damaged gazetteer "{name}"') from error


def stored_sources(stored: Mapping[str, Any]) -> list[str]:
    """The names of the word classes in a model file.

    Raises:
        ValueError: `load_classes` does not make such arrays.
    """
    return list(WordClasses(stored).names)
