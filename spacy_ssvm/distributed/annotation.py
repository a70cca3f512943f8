"""Annotation of documents in shards, which a worker takes one at a time.

Files are cut into shards; Docs are made of a shard's documents, run through a pipeline, and written as one file.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..corpus import conllu_reader, texts
from ..files import format_of, read_lines, replace_files, text_of

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


Format = Literal["spacy", "jsonl"]
RECORD = "record"
"""The key in Doc.user_data of the other fields of the JSONL record that a Doc is made of."""


@dataclass(frozen=True)
class Annotation:
    """How documents become files of results.

    Attributes:
        output: the folder.
        format: "spacy", DocBin, or "jsonl", `Doc.to_json` in addition to the other fields of a record.
        text_key: the field of a record that has the text.

    Raises:
        ValueError: an unknown format.
    """

    output: Path
    format: Format = "spacy"
    text_key: str = "text"

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            raise ValueError(f"--format must be {' or '.join(get_args(Format))}, not {self.format}")


MAX_NEW_STRINGS = 100_000
"""The max number of strings of documents that the vocabulary keeps, besides the shard's; each takes some 400 bytes,
with what components keep of it."""


class SetAside(NamedTuple):
    """A document that could not be annotated: where it is, and why."""

    place: str
    reason: str


class Result(NamedTuple):
    """The result of annotating one shard.

    Attributes:
        file: the name in the folder of results.
        source, sha256: of the shard's documents, and of the file.
    """

    number: int
    file: str
    source: str
    sha256: str
    docs: int
    tokens: int
    set_aside: list[SetAside]


class Annotator:
    """Annotates shards by a pipeline, whose vocabulary does not grow with the number of shards."""

    def __init__(self, nlp: Language, how: Annotation) -> None:
        self._nlp = nlp
        self._how = how
        self._n_strings = len(nlp.vocab.strings)
        self._zone = ExitStack()

    def __call__(self, shard: Shard) -> Result:
        """Annotate a shard and write its file, whole or not at all.

        Documents that raise an error are set aside; the others are then annotated one by one.

        Raises:
            OSError: the file cannot be written.
        """
        # A zone for each shard would take more time: words come again.
        if len(self._nlp.vocab.strings) > self._n_strings + MAX_NEW_STRINGS:
            self._zone.close()
            # Some strings outlast a zone.
            self._n_strings = len(self._nlp.vocab.strings)
        if not cast(Any, self._nlp.vocab).in_memory_zone:
            self._zone.enter_context(self._nlp.memory_zone())
        return _annotate(self._nlp, shard, self._how)


def _annotate(nlp: Language, shard: Shard, how: Annotation) -> Result:
    set_aside: list[SetAside] = []
    try:
        docs = _annotated(nlp, shard.pieces, how)
        content = _encoded(docs, how)
    except Exception:
        docs = []
        for piece in chain.from_iterable(several.single() for several in shard.pieces):
            try:
                found = _annotated(nlp, [piece], how)
                _encoded(found, how)
            except MemoryError:
                raise
            except Exception as error:
                set_aside.append(SetAside(piece.place, f"{type(error).__name__}: {error}"))
            else:
                docs += found
        content = _encoded(docs, how)
    name = file_name(shard.number, how)
    replace_files(how.output, {name: content})
    n_tokens = sum(map(len, docs))
    return Result(shard.number, name, shard.source, hashlib.sha256(content).hexdigest(), len(docs), n_tokens, set_aside)


def file_name(number: int, how: Annotation) -> str:
    """The name of a shard's file."""
    return f"{number:06}.{how.format}"


def _annotated(nlp: Language, pieces: Iterable[Piece], how: Annotation) -> list[Doc]:
    return list(nlp.pipe(doc for piece in pieces for doc in _docs(nlp, piece, how)))


def _docs(nlp: Language, piece: Piece, how: Annotation) -> Iterator[Doc]:
    """The Docs of a piece before they are annotated."""
    if piece.path.suffix == DOCS:
        # Docs have been read in order, so that a piece has all from its first to its last one.
        numbers = slice(piece.numbers[0] - 1, piece.numbers[-1])
        yield from texts.some_docs(read_docbin(piece.path), numbers).get_docs(nlp.vocab)
        return
    for number, content in zip(piece.numbers, piece.contents):
        if piece.path.suffix == conllu_reader.SUFFIX:
            lines = content.decode("utf8", "surrogateescape").split("\n")
            words = conllu_reader.parse(conllu_reader.SentenceLines(number, lines)).words
            yield Doc(nlp.vocab, words=[word.form for word in words], spaces=[word.space for word in words])
        elif format_of(piece.path) == ".jsonl":
            record = texts.record_of(text_of(content), how.text_key)
            doc = nlp.make_doc(record.pop(how.text_key))
            if record:
                doc.user_data[RECORD] = record
            yield doc
        else:
            yield nlp.make_doc(text_of(content))


def _encoded(docs: Iterable[Doc], how: Annotation) -> bytes:
    if how.format == "spacy":
        return DocBin(store_user_data=True, docs=docs).to_bytes()
    return b"".join(srsly.json_dumps(_json(doc)).encode() + b"\n" for doc in docs)


def _json(doc: Doc) -> dict[str, Any]:
    return {**doc.user_data.get(RECORD, {}), **doc.to_json()}
