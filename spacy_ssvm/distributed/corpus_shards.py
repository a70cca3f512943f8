"""A corpus for training, dealt out in parts, each of which is a folder of files."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from spacy.tokens import DocBin

from ..corpus.conllu_reader import SUFFIX as TEXTS
from ..corpus.conllu_reader import read_blocks, texts
from ..corpus.reader import corpus_files
from ..corpus.texts import reading_docs, some_docs

DOCS = ".spacy"
PART = "part-"
ENOUGH = 100_000
"""Tokens that are worth a file: workers hold one file at a time."""
NEW_TEXT = "# newpar"
"""The comment in CoNLL-U before the first sentence of a text."""


class Dealer(ABC):
    """Deals out the documents of files of one format, in turn. parts: the folders."""

    def __init__(self, parts: list[Path]) -> None:
        self.parts = parts

    @abstractmethod
    def deal(self, file: Path, n_before: int, limit: int | None) -> int:
        """Deal out the first documents of a file, at most `limit`; returns their number. n_before: that of others.

        Raises:
            ValueError: the file is not in this format.
            OSError: the folder cannot be written to.
        """

    @abstractmethod
    def end(self) -> None:
        """Write what is left."""

    def _write(self, number: int, suffix: str, write: Callable[[Path], object]) -> None:
        part = self.parts[number]
        part.mkdir(parents=True, exist_ok=True)
        write(part / f"{len(list(part.iterdir())):06}{suffix}")


class DocsDealer(Dealer):
    """Documents of several .spacy files share one if they are few; those of one file are not divided, as they share its
    strings."""

    def __init__(self, parts: list[Path]) -> None:
        super().__init__(parts)
        self._docs: list[DocBin] = []

    def deal(self, file: Path, n_before: int, limit: int | None) -> int:
        with reading_docs(file):
            read = DocBin(store_user_data=True).from_disk(file)
        self._docs = self._docs or [_none_of(read) for _ in self.parts]
        if read.attrs != self._docs[0].attrs:
            raise ValueError(
                f"{file} has other attributes than the .spacy files before it: convert all in the same way"
            )
        n_docs = len(read) if limit is None else min(len(read), limit)
        n_parts = len(self.parts)
        for number, docs in enumerate(self._docs):
            docs.merge(some_docs(read, slice((number - n_before) % n_parts, n_docs, n_parts)))
            if sum(map(len, docs.tokens)) >= ENOUGH:
                self._write(number, DOCS, docs.to_disk)
                self._docs[number] = _none_of(read)
        return n_docs

    def end(self) -> None:
        for number, docs in enumerate(self._docs):
            if len(docs):
                self._write(number, DOCS, docs.to_disk)


class TextsDealer(Dealer):
    """Each text of a .conllu file, as the reader takes its sentences together, is dealt out as it is."""

    def __init__(self, parts: list[Path]) -> None:
        super().__init__(parts)
        self._lines: list[list[str]] = [[] for _ in parts]

    def deal(self, file: Path, n_before: int, limit: int | None) -> int:
        n_docs = 0
        for n_docs, blocks in enumerate(islice(texts(read_blocks(file)), limit), 1):
            number = (n_before + n_docs - 1) % len(self.parts)
            lines = self._lines[number]
            if not blocks[0].begins_text:
                lines.append(NEW_TEXT)
            for block in blocks:
                lines += [*block.lines, ""]
            if len(lines) >= ENOUGH:
                self._write_lines(number)
        return n_docs

    def end(self) -> None:
        for number, lines in enumerate(self._lines):
            if lines:
                self._write_lines(number)

    def _write_lines(self, number: int) -> None:
        content = "\n".join([*self._lines[number], ""])
        self._write(number, TEXTS, lambda path: path.write_bytes(content.encode()))
        self._lines[number] = []


def deal(path: Path, folder: Path, n_parts: int, limit: int | None = None) -> list[Path]:
    """Write each document of a .spacy or .conllu file, or of a folder of them, to one of n parts, in turn.

    limit: the number of documents to take; all by default. Returns the parts, fewer than n where there are fewer
    documents.

    Raises:
        ValueError: there is no such file, or one is in another format.
        OSError: the folder cannot be written to.
    """
    files = corpus_files(path)
    parts = [folder / f"{PART}{number}" for number in range(n_parts)]
    dealers: dict[str, Dealer] = {DOCS: DocsDealer(parts), TEXTS: TextsDealer(parts)}
    if not files or any(file.suffix not in dealers for file in files):
        raise ValueError(
            f"{path} is no {DOCS} or {TEXTS} file, and no folder of them: convert the corpus (spacy convert) first"
        )
    n_docs = 0
    for file in files:
        n_docs += dealers[file.suffix].deal(file, n_docs, None if limit is None else limit - n_docs)
        if n_docs == limit:
            break
    for dealer in dealers.values():
        dealer.end()
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
