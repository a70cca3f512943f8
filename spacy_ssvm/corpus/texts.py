"""Raw text in files: a text a line, records in JSONL, or Docs, and the sentences of words that they hold."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import srsly
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..files import format_of, read_records, split_lines

SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz", ".spacy")


def find_files(inputs: list[Path], suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """The files that paths name: single files, all in a folder and its subfolders, or all that match a pattern.

    Files with other suffixes in a folder are left out. Files of a folder or a pattern are in alphabetical order.

    Raises:
        ValueError: a path names no file, or one with another suffix.
    """
    found: list[Path] = []
    for path in inputs:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(suffixes))
        elif has_magic(str(path)) and not path.exists():
            files = sorted(file for name in glob(str(path), recursive=True) if (file := Path(name)).is_file())
        else:
            files = [path] if path.is_file() else []
        if not files:
            raise ValueError(f"{path}: there is no file of text ({', '.join(suffixes)})")
        for file in files:
            if not file.name.endswith(suffixes):
                raise ValueError(f"{file}: the name of a file of text has to end in {', '.join(suffixes)}")
        found += files
    return found


def read_sentences(path: Path, tokenise: Callable[[str], list[str]], vocab: Vocab) -> Iterator[list[str]]:
    """The sentences of a file: lines of text, the lines of the texts of records, or the sentences of Docs.

    A Doc without sentence boundaries is one sentence. Lines that cannot be read are left out, with a warning.

    Raises:
        ValueError: the file, or each of its lines, cannot be read; the message names the file, and the lines.
    """
    if path.suffix == ".spacy":
        yield from _sentences_of_docs(path, vocab)
        return
    is_jsonl = format_of(path) == ".jsonl"

    def tokenised(line: str) -> list[list[str]]:
        text = record_of(line)["text"] if is_jsonl else line
        try:
            return list(map(tokenise, split_lines(text)))
        except UnicodeEncodeError as error:
            raise ValueError(f"this text has half of a character: {error}") from error

    for _, sentences in read_records(path, tokenised):
        yield from sentences


def record_of(line: str, key: str = "text") -> dict[str, Any]:
    """An object in JSON whose field `key` is a text.

    Raises:
        ValueError: it is not JSON, or has no text.
    """
    try:
        found = srsly.json_loads(line)
    except ValueError as error:
        raise ValueError(f"this is not JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get(key), str):
        raise ValueError(f'a line must be an object with a string "{key}"')
    return found


@contextmanager
def reading_docs(path: Path) -> Iterator[None]:
    """Name the file in the errors, of many types, that spaCy raises for one that is not in .spacy format.

    Raises:
        ValueError: in place of any error but those of the system.
    """
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a corpus in .spacy format: {error}") from error


def some_docs(stored: DocBin, chosen: slice | Sequence[int]) -> DocBin:
    """The Docs of a DocBin with these numbers, with all of its strings; nothing is copied."""
    numbers = range(len(stored))[chosen] if isinstance(chosen, slice) else chosen
    # `copy` would serialise all of them.
    some = DocBin(attrs=(), store_user_data=stored.store_user_data)
    some.attrs, some.strings = stored.attrs, stored.strings
    for part in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
        setattr(some, part, [getattr(stored, part)[number] for number in numbers])
    return some


def _sentences_of_docs(path: Path, vocab: Vocab) -> Iterator[list[str]]:
    with reading_docs(path):
        for doc in DocBin().from_disk(path).get_docs(vocab):
            for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc]:
                yield [token.text for token in sentence]
