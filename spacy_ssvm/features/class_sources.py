"""Sources of word classes: files, spaCy's table of clusters, word vectors.

A source is called once, when a component is initialized, and returns word key → class for all words that it knows.
Importing this module does not import numba.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spacy.strings import get_string_id
from spacy.vocab import Vocab

from ..files import Record, read_records

Source = Callable[[Vocab], Mapping[int, str]]

CLUSTER_TABLE = "lexeme_cluster"
"""spaCy's lookups table behind `Lexeme.cluster`."""


@dataclass(frozen=True)
class ClassFile:
    """A file with one "class<TAB>word" a line; further columns are ignored.

    Called, raises:
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

    Called, raises:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """

    path: Path

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        return {int(get_string_id(word)): "|".join(tags) for word, tags in read_lexicon(self.path).items()}


@dataclass(frozen=True)
class LookupsClusters:
    """The Brown clusters in spaCy's lookups table, as `[initialize.lookups]` and spacy-lookups-data fill it.

    The table has the bit string of a cluster as a number, read backwards; 0 is no cluster.

    Called, raises:
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

    n_classes: their number; classes of several sizes are several sources.
    words: a file with one word a line, those that get a class; None for all that have a vector of their own. A floret
    table, which has a vector for any word, needs it.

    Called, raises:
        ValueError: n_classes is less than 1, the file cannot be read, the vocabulary has no vectors of these words, or
            a floret table and no file.
        ImportError: scikit-learn is not installed.
    """

    n_classes: int = 500
    seed: int = 0
    words: str | Path | None = None

    def __call__(self, vocab: Vocab) -> Mapping[int, str]:
        from .vector_classes import classes_of_vectors

        words = None if self.words is None else [word for _, word in _read(Path(self.words), _first_column)]
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


def _first_column(line: str) -> str:
    return line.split("\t")[0]


def _read_pairs(path: Path, form: str) -> list[tuple[int, str, str]]:
    """The number, from 1, and the first two columns of each line.

    Raises:
        ValueError: the file, or each of its lines, cannot be read, or there is no line.
    """

    def pair(line: str) -> tuple[str, str]:
        columns = line.split("\t")
        if len(columns) < 2 or not columns[0] or not columns[1]:
            raise ValueError(f'this is not "{form}": {line[:80]!r}')
        return columns[0], columns[1]

    pairs = [(number, first, second) for number, (first, second) in _read(path, pair)]
    if not pairs:
        raise ValueError(f"word classes: {path} is empty")
    return pairs
