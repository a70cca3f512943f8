"""Documents in files, cut into shards: a worker annotates one at a time, and a file of results holds one."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import DocBin

from ..corpus import conllu_reader, texts
from ..files import read_lines

DOCS = ".spacy"
SUFFIXES = (*texts.SUFFIXES, conllu_reader.SUFFIX)
MAX_BYTES = 1 << 17
"""Bytes of text in a shard, some 25,000 tokens: about a second of work."""
BYTES_OF_TOKEN = 5
"""Bytes that a token of a Doc counts as."""


class Piece(NamedTuple):
    """Consecutive documents of a file.

    Attributes:
        numbers: of the lines that they begin in, or of the Docs, from 1.
        contents: of each a line of text or of JSONL, or a sentence in CoNLL-U; empty for Docs, which are read from the
            file.
    """

    path: Path
    numbers: list[int]
    contents: list[bytes]

    def single(self) -> "Iterator[Piece]":
        """A piece for each document."""
        for number, content in zip(self.numbers, self.contents):
            yield Piece(self.path, [number], [content])

    @property
    def place(self) -> str:
        """Where the first document is, for messages."""
        return f"{self.path}, {'document' if self.path.suffix == DOCS else 'line'} {self.numbers[0]}"


class Shard(NamedTuple):
    """Consecutive documents of some files. number: from 0. source: SHA-256 of the documents, in hexadecimal."""

    number: int
    pieces: list[Piece]
    source: str


def cut(files: list[Path], max_bytes: int = MAX_BYTES) -> Iterator[Shard]:
    """The documents of files, in order, in shards; the ends of shards depend on the documents alone.

    Lines of text, records in JSONL, sentences in CoNLL-U, Docs of a .spacy file; empty lines are left out.

    Raises:
        ValueError: a file cannot be read; the message names it.
    """
    number, size, digest = 0, 0, hashlib.sha256()
    pieces: list[Piece] = []
    for path in files:
        pieces.append(Piece(path, [], []))
        for place, content, weight, identity in _documents(path):
            if size and size + weight > max_bytes:
                yield Shard(number, _filled(pieces), digest.hexdigest())
                number, size, pieces, digest = number + 1, 0, [Piece(path, [], [])], hashlib.sha256()
            pieces[-1].numbers.append(place)
            pieces[-1].contents.append(content)
            size += weight
            digest.update(hashlib.sha256(identity).digest())
    if size:
        yield Shard(number, _filled(pieces), digest.hexdigest())


def _filled(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.numbers]


def _documents(path: Path) -> Iterator[tuple[int, bytes, int, bytes]]:
    """Number, content, size in bytes, and identity of the content, of each document of a file."""
    if path.suffix == DOCS:
        file = hashlib.sha256(_bytes(path)).digest()
        for number, tokens in enumerate(read_docbin(path).tokens, 1):
            yield number, b"", max(1, BYTES_OF_TOKEN * len(tokens)), file + number.to_bytes(8, "little")
    elif path.suffix == conllu_reader.SUFFIX:
        for block in conllu_reader.read_blocks(path):
            content = "\n".join(block.lines).encode("utf8", "surrogateescape")
            yield block.line, content, len(content), content
    else:
        for number, line in read_lines(path):
            if line.strip():
                yield number, line, len(line), line


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


@lru_cache(maxsize=1)
def read_docbin(path: Path) -> DocBin:
    """Read the Docs of a .spacy file; they stay in memory until another file is read.

    Raises:
        ValueError: the file is not in .spacy format.
    """
    with texts.reading_docs(path):
        return DocBin().from_disk(path)
