"""Gazetteers: lists of phrases of one or more tokens, their sources, and their longest matches in a text.

A source is a file of phrases, the patterns of an entity ruler, or a column of a table. It is called once, when a
component is initialized, and returns its phrases: texts, which the pipeline's tokenizer splits, or lists of tokens.
"""

import csv
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy.strings import get_string_id

from ..files import format_of, read_lines, read_records, report_left_out, text_of
from ..kernels import kernel
from .compressed import compressed_ascending, decompressed_ascending
from .index import ABSENT, Table, insert, insert_all, look_up, low_bits, mix, new_table, row_keys

Phrase = str | list[str]
PhraseSource = Callable[[], Iterable[Phrase]]

_TOKEN_TEXTS = {"LOWER", "ORTH", "TEXT"}
"""Attributes of a token in a pattern that give its text; matching always ignores case."""
_NO_PHRASES = (".jsonl", ".json")
"""Formats whose lines are no phrases."""
_RETURN = "\udc0d"
"""Stand-in for a carriage return, at which the csv module would end a row; no text in UTF-8 has it."""

SINGLE, FIRST, INSIDE, LAST = 1, 2, 3, 4
"""Marks of a token by its position in a matched phrase; 0 outside of matches."""
_SEED = np.uint64(0xC2B2AE3D27D4EB4F)
_END = np.uint64(1)
_BITS = 32
"""The number of low bits kept of a hash. A token of no phrase is marked only if two hashes are mistaken."""


@dataclass(frozen=True)
class PhraseFile:
    """A file with one phrase a line.

    Raises, when called:
        ValueError: the file cannot be read, or its name says that it is in another format.
    """

    path: Path

    def __call__(self) -> list[Phrase]:
        if format_of(self.path) in _NO_PHRASES:
            raise ValueError(
                f"{self.path} is no file of phrases, one a line: read the patterns of an entity ruler by "
                "spacy-ssvm.PatternFile.v1"
            )
        return [phrase for _, phrase in read_records(self.path, str.strip)]


@dataclass(frozen=True)
class PatternFile:
    """The patterns of spaCy's `entity_ruler` or `span_ruler`, in JSONL: {"label": …, "pattern": …} in each line.

    Attributes:
        labels: of the patterns to take; None takes all. A pattern is a text, or a list of tokens with a text each.
            Other patterns, such as those with operators or regular expressions, are left out, with a warning, and so
            are lines of another form.

    Raises, when called:
        ValueError: the file, or each of its lines, cannot be read.
    """

    path: Path
    labels: tuple[str, ...] | None = None

    def __call__(self) -> list[Phrase]:
        phrases, others = [], 0
        for _, (label, phrase) in read_records(self.path, _pattern):
            if self.labels is not None and label not in self.labels:
                continue
            if phrase is None:
                others += 1
            else:
                phrases.append(phrase)
        if others:
            warnings.warn(
                f"features.gazetteers: {others} patterns in {self.path} are no phrases and are left out", stacklevel=2
            )
        return phrases


@dataclass(frozen=True)
class TableColumn:
    """A column of a table in a file with a line of headings: separated by tabs in .tsv, by commas otherwise.

    Rows that do not reach to this column or have a stray quotation mark, and lines that are not in UTF-8, are left out,
    with a warning. A mark at the beginning of a cell that is not closed takes in all rows below.

    Raises, when called:
        ValueError: the file, or each of its rows, cannot be read, or it has no column of this name.
    """

    path: Path
    column: str

    def __call__(self) -> list[Phrase]:
        left_out: list[str] = []
        lines = self._lines(left_out)
        rows = csv.DictReader(lines, delimiter="\t" if format_of(self.path) == ".tsv" else ",", strict=True)
        column = self.column.replace("\r", _RETURN)
        cells: list[str] = []
        try:
            names = list(rows.fieldnames or ())
        except csv.Error as error:
            raise ValueError(f"{self.path}, line 1: {error}") from error
        if column not in names:
            listed = ", ".join(names or ["none"]).replace(_RETURN, "\r")
            raise ValueError(f'{self.path} has no column "{self.column}" but {listed}')
        while True:
            line = rows.reader.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                left_out.append(f"{self.path.name}, line {line}: {error}; a quotation mark encloses a cell")
                continue
            if (cell := row[column]) is None:
                left_out.append(f"{self.path.name}, line {rows.line_num}: the row has no {self.column}")
            else:
                cells.append(cell.replace(_RETURN, "\r").strip())
        report_left_out(self.path, left_out, not cells, "rows")
        return list(filter(None, cells))

    def _lines(self, left_out: list[str]) -> Iterator[str]:
        """The lines, for the csv module; a message about each that is not in UTF-8 is added to `left_out`."""
        for number, line in read_lines(self.path):
            try:
                yield text_of(line).replace("\r", _RETURN) + "\n"
            except ValueError as error:
                left_out.append(f"{self.path.name}, line {number}: {error}")
                # Lines are counted, and empty ones are no rows.
                yield "\n"


@dataclass(frozen=True)
class WithoutDeterminers:
    """The phrases of another source, also without the determiner if they begin with one.

    Attributes:
        determiners: in lower case; a phrase in a text that begins with none of them matches in any case.
    """

    source: PhraseSource
    determiners: frozenset[str]

    def __call__(self) -> list[Phrase]:
        phrases = list(self.source())
        shorter = []
        for phrase in phrases:
            first, *rest = phrase.split(maxsplit=1) if isinstance(phrase, str) else phrase
            if rest and first.lower() in self.determiners:
                shorter.append(rest[0] if isinstance(phrase, str) else rest)
        return [*phrases, *shorter]


def phrase_file(path: str | Path, determiners: Sequence[str] = ()) -> PhraseSource:
    """Phrases from a file, one a line: the registered function."""
    return _with(PhraseFile(Path(path)), determiners)


def pattern_file(path: str | Path, labels: list[str] | None = None, determiners: Sequence[str] = ()) -> PhraseSource:
    """Phrases from the patterns of an entity ruler: the registered function."""
    return _with(PatternFile(Path(path), None if labels is None else tuple(labels)), determiners)


def table_column(path: str | Path, column: str, determiners: Sequence[str] = ()) -> PhraseSource:
    """Phrases from a column of a table: the registered function."""
    return _with(TableColumn(Path(path), column), determiners)


def _with(source: PhraseSource, determiners: Sequence[str]) -> PhraseSource:
    return WithoutDeterminers(source, frozenset(map(str.lower, determiners))) if determiners else source


def _pattern(line: str) -> tuple[Any, Phrase | None]:
    """The label of a pattern, and its phrase from `_phrase`.

    Raises:
        ValueError: the line is no such object.
    """
    try:
        found = srsly.json_loads(line)
        srsly.json_dumps(found["pattern"]).encode()  # Half of a character is no text.
        return found["label"], _phrase(found["pattern"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f'this is not {{"label": …, "pattern": …}}: {line[:80]!r}') from error


def _phrase(pattern: Any) -> Phrase | None:
    """A pattern as a phrase; None if it is something else.

    Raises:
        TypeError: it is neither a text nor a list of objects.
    """
    if isinstance(pattern, str):
        return pattern.strip() or None
    if not isinstance(pattern, list) or not all(isinstance(token, dict) for token in pattern):
        raise TypeError(pattern)
    texts = [text for token in pattern for name, text in token.items() if name.upper() in _TOKEN_TEXTS]
    is_phrase = pattern and all(len(token) == 1 for token in pattern) and len(texts) == len(pattern)
    return texts if is_phrase and all(isinstance(text, str) for text in texts) else None


@kernel
def _add_phrase(table, words):
    """Insert the hash of every prefix of a phrase, and of the whole phrase with an end mark."""
    state = _SEED
    for word in words:
        state = mix(state, word)
        insert(table, low_bits(state, _BITS))
    insert(table, low_bits(mix(state, _END), _BITS))


@kernel
def mark_phrases(table, starts, lower, marks):
    """Mark leftmost-longest matches: SINGLE, or FIRST INSIDE … LAST; other tokens keep 0.

    Args:
        starts: int64 [n + 1], first token of each sequence.
        lower: uint64 [T], keys of lower-cased words.
        marks: uint64 [T], initially 0, output.
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
    """The table that `pack_gazetteer` was given, up to the order of its rows, which is arbitrary.

    Args:
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
