"""A corpus for training, dealt out in parts, each of which is a folder of files."""

from pathlib import Path

from spacy.tokens import DocBin

from ..corpus.reader import corpus_files
from ..corpus.texts import reading_docs, some_docs

SUFFIX = ".spacy"
PART = "part-"
ENOUGH = 100_000
"""Tokens that are worth a file: workers hold one file at a time."""


def deal(path: Path, folder: Path, n_parts: int, limit: int | None = None) -> list[Path]:
    """Write each document of a .spacy file, or of a folder of them, to one of n parts, in turn.

    The corpus is read file by file. Documents of several files share one if they are few; those of one file are not
    divided, as they share its strings.

    limit: the number of documents to take; all by default. Returns the parts, fewer than n where there are fewer
    documents.

    Raises:
        ValueError: there is no such file, or one is not in .spacy format.
        OSError: the folder cannot be written to.
    """
    files = corpus_files(path)
    if not files or any(file.suffix != SUFFIX for file in files):
        raise ValueError(f"{path} is no {SUFFIX} file, and no folder of them: convert the corpus (spacy convert) first")
    parts: list[DocBin] = []
    n_docs = 0
    for file in files:
        with reading_docs(file):
            read = DocBin(store_user_data=True).from_disk(file)
        parts = parts or [_none_of(read) for _ in range(n_parts)]
        if read.attrs != parts[0].attrs:
            raise ValueError(f"{file} has other attributes than {files[0]}: convert both in the same way")
        end = len(read) if limit is None else min(len(read), limit - n_docs)
        for number, part in enumerate(parts):
            part.merge(some_docs(read, slice((number - n_docs) % n_parts, end, n_parts)))
            if sum(map(len, part.tokens)) >= ENOUGH:
                _write(part, folder / f"{PART}{number}")
                parts[number] = _none_of(read)
        n_docs += end
        if n_docs == limit:
            break
    for number, part in enumerate(parts):
        if len(part):
            _write(part, folder / f"{PART}{number}")
    return dealt_parts(folder)


def dealt_parts(folder: Path) -> list[Path]:
    """The parts that `deal` has written, in order: folders, or files where there is only one."""
    parts: list[Path] = []
    while (part := folder / f"{PART}{len(parts)}").is_dir():
        files = list(part.iterdir())
        parts.append(files[0] if len(files) == 1 else part)
    return parts


def _none_of(read: DocBin) -> DocBin:
    """A DocBin with the settings of another one, and nothing else of it."""
    empty = some_docs(read, slice(0))
    empty.strings = set()
    return empty


def _write(docs: DocBin, part: Path) -> None:
    part.mkdir(parents=True, exist_ok=True)
    docs.to_disk(part / f"{len(list(part.iterdir())):06}{SUFFIX}")
