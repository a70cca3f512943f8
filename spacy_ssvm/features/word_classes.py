"""Word classes: their sources, and how they are stored in a model file and used.

A source is a file of Brown clusters, a lexicon of tags, spaCy's table of clusters, or word vectors. It is called once,
when a component is initialized, and returns word key → class for all words that it knows.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from spacy.strings import get_string_id
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab

from ..files import Record, read_records
from ..growth import widened
from ..word_forms import forms
from .attributes import ClassPart
from .compressed import compressed, compressed_ascending, decompressed, decompressed_ascending
from .word_keys import FORMS
from .word_types import Generation, Types

Source = Callable[[Vocab], Mapping[int, str]]

CLUSTER_TABLE = "lexeme_cluster"
"""spaCy's lookups table for `Lexeme.cluster`."""

_FACTOR = 0x9E3779B97F4A7C15
"""A word is known by the high 32 bits of its key times this, modulo 2⁶⁴, as spaCy's own symbols, such as "NOUN"
and "agent", have small numbers for keys. One in 8,600 other words passes for one of 500,000 known ones."""


@dataclass(frozen=True)
class ClassFile:
    """A file with one "class<TAB>word" a line; further columns are ignored.

    Raises, when called:
        ValueError: the file, or each of its lines, cannot be read, there is no line, or a word is in two classes.
    """

    path: Path

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        classes: dict[str, tuple[str, int]] = {}
        for line, name, word in _read_pairs(self.path, "class<TAB>word"):
            first, first_line = classes.setdefault(word, (name, line))
            if name != first:
                raise ValueError(
                    f'word classes: line {line} of {self.path} puts "{word}" into the class {name}, '
                    f"line {first_line} into {first}"
                )
        return {int(get_string_id(word)): name for word, (name, _) in classes.items()}


@dataclass(frozen=True)
class Lexicon:
    """A file with one "word<TAB>tag" a line; a word may have several lines, and its class is the set of its tags.

    Raises, when called:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """

    path: Path

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        return {int(get_string_id(word)): "|".join(tags) for word, tags in read_lexicon(self.path).items()}


@dataclass(frozen=True)
class LookupsClusters:
    """The Brown clusters in spaCy's lookups table, as `[initialize.lookups]` and spacy-lookups-data fill it.

    The table has the bit string of a cluster as a number, read backwards; 0 is no cluster.

    Raises, when called:
        ValueError: the vocabulary has no such table, or the table has no cluster.
    """

    table: str = CLUSTER_TABLE

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        numbers = vocab.lookups.get_table(self.table) if vocab.lookups.has_table(self.table) else {}
        length = max(numbers.values(), default=0).bit_length()
        found = {int(word): f"{number:b}"[::-1].ljust(length, "0") for word, number in numbers.items() if number}
        if not found:
            raise ValueError(
                f'word classes: nlp.vocab.lookups has no clusters in a table "{self.table}". Install '
                "spacy-lookups-data and let [initialize.lookups] load it: @misc = "
                f'"spacy.LookupsDataLoader.v1", lang = "en", tables = ["{self.table}"]'
            )
        return found


@dataclass(frozen=True)
class VectorClasses:
    """Classes of the word vectors in `nlp.vocab`, by k-means over the directions of the vectors.

    Attributes:
        n_classes: their number; classes of several sizes are several sources.
        words: a file with one word a line, those that get a class; None for all that have a vector of their own. A
            floret table, which has a vector for any word, needs it.

    Raises, when called:
        ValueError: n_classes is less than 1, the file cannot be read, the vocabulary has no vectors of these words, or
            a floret table and no file.
        ImportError: scikit-learn is not installed.
    """

    n_classes: int = 500
    seed: int = 0
    words: str | Path | None = None

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        words = (
            None
            if self.words is None
            else [word for _, word in _read(Path(self.words), lambda line: line.split("\t")[0].strip())]
        )
        return classes_of_vectors(vocab.vectors, self.n_classes, self.seed, words)


def read_lexicon(path: Path) -> dict[str, list[str]]:
    """The tags of each word in a file with one "word<TAB>tag" a line; tags in alphabetical order, each once.

    Lines without a tab are left out, with a warning.

    Raises:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """
    tags: dict[str, set[str]] = {}
    for _, word, tag in _read_pairs(path, "word<TAB>tag"):
        tags.setdefault(word, set()).add(tag)
    return {word: sorted(found) for word, found in tags.items()}


def class_file(path: str | Path) -> ClassFile:
    """Word classes from a file: the registered function."""
    return ClassFile(Path(path))


def lexicon(path: str | Path) -> Lexicon:
    """A lexicon of tags from a file: the registered function."""
    return Lexicon(Path(path))


def _read(path: Path, parse: Callable[[str], Record]) -> list[tuple[int, Record]]:
    """The number, from 1, and the content of each line of a file that is not empty and can be read.

    Raises:
        ValueError: the file, or each of its lines, cannot be read.
    """
    try:
        return list(read_records(path, parse))
    except ValueError as error:
        raise ValueError(f"word classes: {error}") from error


def _read_pairs(path: Path, form: str) -> list[tuple[int, str, str]]:
    """The number, from 1, and the first two columns of each line, without whitespace around them.

    Raises:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """

    def pair(line: str) -> tuple[str, str]:
        columns = list(map(str.strip, line.split("\t")))
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise ValueError(f'this is not "{form}": {line[:80]!r}')
        return columns[0], columns[1]

    pairs = [(number, first, second) for number, (first, second) in _read(path, pair)]
    if not pairs:
        raise ValueError(f"word classes: {path} is empty")
    return pairs


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
    """The classes of words, from arrays that `pack_classes` returns or a model file has.

    names: source → the names of its classes; the first one is empty: of words without a class.

    Raises:
        ValueError: `pack` has not made these arrays.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.names: dict[str, list[str]] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._hashes = np.zeros(0, np.uint32)
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

    def class_of(self, source: str, word: str) -> str:
        """The name of the word's class; empty if it has none, or the source is unknown."""
        places = self._places(np.array([[get_string_id(form)] for form in forms(word)], np.uint64))
        return self.names.get(source, [""])[int(self._numbers_at(source, places)[0])]

    def keys(self, parts: Sequence[ClassPart], of_forms: np.ndarray) -> np.ndarray:
        """The keys of parts of words' classes, uint64 [P, n].

        Args:
            of_forms: uint64 [4, n], the keys of the words' `forms`.
        """
        places = self._places(of_forms)
        found = np.zeros((len(parts), places.shape[1]), np.uint64)
        for row, (source, prefix) in zip(found, parts):
            names = self.names.get(source, [""])
            keys = np.array([0, *(get_string_id(name[: prefix or None]) for name in names[1:])], np.uint64)
            row[:] = keys[self._numbers_at(source, places)]
        return found

    def _numbers_at(self, source: str, places: np.ndarray) -> np.ndarray:
        """The numbers of the words' classes, [n]; 0 for none. Of a word's forms, the first one with a class counts."""
        if source not in self._numbers:
            return np.zeros(places.shape[1], np.int64)
        found = self._numbers[source][places]
        chosen: np.ndarray = found[(found != 0).argmax(axis=0), np.arange(places.shape[1])]
        return chosen

    def _places(self, of_forms: np.ndarray) -> np.ndarray:
        """The places of the words' forms, int64 [4, n]; the last for unknown ones."""
        hashes = (of_forms * np.uint64(_FACTOR) >> np.uint64(32)).astype(np.uint32)
        found = np.searchsorted(self._hashes, hashes)
        is_known = np.append(self._hashes, np.uint32(0))[found] == hashes
        return np.where(is_known & (found < len(self._hashes)), found, len(self._hashes))


class ClassKeys:
    """The keys of parts of word types' classes, each computed once. Several threads may read."""

    def __init__(self, classes: WordClasses, parts: Sequence[ClassPart]) -> None:
        self._classes = classes
        self._parts = parts
        self._lock = Lock()
        self._stored: WeakKeyDictionary[Generation, tuple[int, np.ndarray]] = WeakKeyDictionary()

    def of(self, types: Types) -> np.ndarray:
        """The keys of all types so far, uint64 [P, V], with their FORMS; callers must not modify them."""
        n_types = types.keys.shape[1]
        if not self._parts:
            return np.zeros((0, n_types), np.uint64)
        with self._lock:
            known, keys = self._stored.get(types.generation, (0, np.zeros((len(self._parts), 0), np.uint64)))
            if known < n_types:
                new = np.array([types.of(form)[known:] for form in FORMS])
                keys = widened(keys, known, n_types)
                keys[:, known:n_types] = self._classes.keys(self._parts, new)
                self._stored[types.generation] = n_types, keys
        return keys[:, :n_types]


BATCH = 4096
"""Vectors of one step of mini-batch k-means, and words of a floret table that are looked up at once."""


def classes_of_vectors(
    vectors: Vectors, n_classes: int, seed: int, words: Sequence[str] | None = None
) -> Mapping[int, str]:
    """Word key → class "0" … str(n_classes − 1), of all words with a vector that is not 0.

    The vectors are scaled to length 1, so that classes depend on direction. There are at most as many classes as words.

    Args:
        words: the words that get a class; None for all words that have a vector of their own.

    Raises:
        ValueError: n_classes is less than 1, there are no vectors, or those of a floret table, which has one for any
            word, and no words.
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError as error:
        raise ImportError('classes of word vectors need scikit-learn: pip install "spacy-ssvm[vectors]"') from error
    if n_classes < 1:
        raise ValueError(f"features.classes: n_classes must be at least 1, not {n_classes}")
    keys, row_of_word, data = _by_piece(vectors, words) if vectors.mode == Mode.floret else _by_word(vectors, words)
    lengths = np.linalg.norm(data, axis=1)
    if not lengths.any():
        raise ValueError(
            "features.classes: nlp.vocab has no vectors of these words: name a pipeline with vectors in "
            "[initialize.vectors]"
        )
    known = lengths > 0
    data = data[known] / lengths[known, None]
    means = MiniBatchKMeans(min(n_classes, len(data)), random_state=seed, batch_size=BATCH, n_init=1).fit(data)
    classes = np.full(len(known), -1)
    classes[known] = means.labels_
    return {int(key): str(classes[row]) for key, row in zip(keys, row_of_word) if classes[row] >= 0}


def _by_word(vectors: Vectors, words: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys uint64 [n], the row of each, int64 [n], and the rows, float32 [m, width], of words in a table of words."""
    wanted = vectors.key2row if words is None else vectors.key2row.keys() & map(get_string_id, words)
    keys = np.array(sorted(wanted), np.uint64)
    rows = np.array([vectors.key2row[int(key)] for key in keys], np.int64)
    keys, rows = keys[rows >= 0], rows[rows >= 0]
    used, row_of_word = np.unique(rows, return_inverse=True)
    data = np.asarray(vectors.data)[used].astype(np.float32) if len(used) else np.zeros((0, 1), np.float32)
    return keys, row_of_word, data


def _by_piece(vectors: Vectors, words: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, rows and vectors of words in a floret table, as from `_by_word`.

    A word's vector is the mean of its pieces' vectors.
    """
    if words is None:
        raise ValueError(
            "features.classes: a floret table has a vector for any word: name those that are to get a class in a file "
            "with one word a line, words = FILE"
        )
    distinct = sorted({word for word in words if word}, key=get_string_id)
    batches = [vectors.get_batch(distinct[first : first + BATCH]) for first in range(0, len(distinct), BATCH)]
    data = np.concatenate([np.zeros((0, vectors.data.shape[1])), *batches]).astype(np.float32)
    return np.array([get_string_id(word) for word in distinct], np.uint64), np.arange(len(distinct)), data
