"""Sources of gazetteers: files of phrases, the patterns of an entity ruler, columns of tables.

A source is called once, when a component is initialized, and returns its phrases: texts, which the pipeline's tokenizer
splits, or lists of tokens. Importing this module does not import numba.
"""

import csv
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import srsly

from .text_lines import read_lines

Phrase = str | list[str]
PhraseSource = Callable[[], Iterable[Phrase]]

_TOKEN_TEXTS = {"LOWER", "ORTH", "TEXT"}
"""Attributes of a token in a pattern that say what its text is; matching ignores case in any case."""


@dataclass(frozen=True)
class PhraseFile:
    """A file with one phrase a line.

    Called, raises:
        ValueError: the file cannot be read.
    """

    path: Path

    def __call__(self) -> list[Phrase]:
        return [line.strip() for line in read_lines(self.path) if line.strip()]


@dataclass(frozen=True)
class PatternFile:
    """The patterns of spaCy's `entity_ruler` or `span_ruler`, in JSONL: {"label": …, "pattern": …} in each line.

    labels: those of the patterns to take; None takes all. A pattern is a text, or a list of tokens of which each has a
    text. Other patterns, such as those with operators or regular expressions, are left out, with a warning.

    Called, raises:
        ValueError: the file cannot be read, or a line is not such an object.
    """

    path: Path
    labels: tuple[str, ...] | None = None

    def __call__(self) -> list[Phrase]:
        phrases, others = [], 0
        for number, line in enumerate(read_lines(self.path), 1):
            if not line.strip():
                continue
            try:
                pattern = srsly.json_loads(line)
                label, phrase = pattern["label"], _phrase(pattern["pattern"])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f'line {number} of {self.path} is not {{"label": …, "pattern": …}}: {line[:80]!r}'
                ) from error
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

    Called, raises:
        ValueError: the file cannot be read, or has no column of this name.
    """

    path: Path
    column: str

    def __call__(self) -> list[Phrase]:
        rows = csv.DictReader(read_lines(self.path), delimiter="\t" if self.path.suffix == ".tsv" else ",")
        if self.column not in (rows.fieldnames or ()):
            raise ValueError(f'{self.path} has no column "{self.column}" but {", ".join(rows.fieldnames or ["none"])}')
        return [row[self.column].strip() for row in rows if (row[self.column] or "").strip()]


@dataclass(frozen=True)
class WithoutDeterminers:
    """The phrases of another source; those that begin with a determiner are there without it, too.

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
