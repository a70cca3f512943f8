"""A corpus for training, dealt out in parts, a folder of files each."""

from collections.abc import Sequence
from pathlib import Path

from spacy.tokens import DocBin

from ..corpus import conllu_reader
from ..corpus.reader import corpus_files, kind_of
from ..corpus.texts import reading_docs, some_docs
from ..files import report_left_out

DOCBIN, CONLLU = ".spacy", conllu_reader.SUFFIX
PART = "part-"
ENOUGH = 100_000
"""Tokens that are worth a DocBin: workers hold one file at a time."""
NEW_TEXT = "# newpar"
"""The comment in CoNLL-U before the first sentence of a text."""
NO_ENTITY = "|O"
"""The entry in MISC that marks a word as outside entities, and so the entities of a text as annotated."""


def deal(
    path: Path,
    folder: Path,
    n_parts: int,
    limit: int | None = None,
    formats: Sequence[str] = (DOCBIN, CONLLU),
    one_each: bool = False,
) -> list[Path]:
    """Write each document of a file, or of the files of a folder, to one of n parts, in turn.

    Sentences of CoNLL-U that cannot be read are left out, with a warning.

    Args:
        limit: the number of documents to take; all by default.
        formats: the suffixes of files that the corpus reader reads.
        one_each: whether it makes a document of each sentence of CoNLL-U.

    Returns:
        The parts, fewer than n where there are fewer documents.

    Raises:
        ValueError: there is no such file, it is in another format, or none of its documents can be read.
        OSError: the folder cannot be written to.
    """
    files = [file for file in corpus_files(path) if file.suffix in formats]
    if not files:
        raise ValueError(
            f"{path} is no {' or '.join(formats)} file, and no folder of them: convert the corpus first, columns "
            "by spacy ssvm init-config --data, others by spacy convert"
        )
    parts = [folder / f"{PART}{number}" for number in range(n_parts)]
    docbins, left_out, n_docs = _DocBins(parts), list[str](), 0
    for file in files:
        rest = None if limit is None else limit - n_docs
        if file.suffix == CONLLU:
            n_docs += _deal_texts(file, parts, n_docs, rest, one_each, left_out)
        else:
            n_docs += docbins.deal(file, n_docs, rest)
        if n_docs == limit:
            break
    docbins.end()
    report_left_out(path, left_out, n_docs == 0, kind_of(files))
    return dealt_parts(folder)


def dealt_parts(folder: Path) -> list[Path]:
    """The parts that `deal` has written, in order: folders, or files where there is only one."""
    parts: list[Path] = []
    while (part := folder / f"{PART}{len(parts)}").is_dir():
        files = list(part.iterdir())
        parts.append(files[0] if len(files) == 1 else part)
    return parts


def _deal_texts(
    file: Path, parts: Sequence[Path], n_before: int, limit: int | None, one_each: bool, left_out: list[str]
) -> int:
    """Deal out the first texts of a .conllu file; returns their number.

    Args:
        n_before: the number of documents dealt before.
        left_out: a message about each unreadable sentence is added.
    """
    n_texts = 0
    # Whether entities are annotated is a matter of a whole file, also of one that is dealt.
    with_entities = conllu_reader.has_entities(file)
    name = f"{'entities' if with_entities else 'texts'}{CONLLU}"
    for text in conllu_reader.texts(conllu_reader.read_blocks(file), one_each):
        if n_texts == limit:
            break
        lines: list[str] = []
        for block, _ in conllu_reader.sentences(file, text, left_out):
            if not lines and not block.begins_text:
                lines.append(NEW_TEXT)
            outside = NO_ENTITY if with_entities else ""
            lines += [line if line.startswith("#") else line + outside for line in block.lines if line.strip()]
            lines.append("")
        if lines:
            part = parts[(n_before + n_texts) % len(parts)]
            part.mkdir(parents=True, exist_ok=True)
            with (part / name).open("ab") as dealt:
                dealt.write("".join(f"{line}\n" for line in lines).encode("utf8", "surrogateescape"))
            n_texts += 1
    return n_texts


class _DocBins:
    """Deals out the documents of .spacy files.

    In a part, small files are merged; a file's documents stay together, as they share its strings.
    """

    def __init__(self, parts: Sequence[Path]) -> None:
        self._parts = parts
        self._docs: list[DocBin] = []

    def deal(self, file: Path, n_before: int, limit: int | None) -> int:
        """Deal out the first documents of a file; returns their number. n_before: the number dealt before."""
        with reading_docs(file):
            read = DocBin(store_user_data=True).from_disk(file)
        self._docs = self._docs or [_none_of(read) for _ in self._parts]
        if read.attrs != self._docs[0].attrs:
            raise ValueError(f"{file} has other attributes than the files before it: convert all in the same way")
        n_docs = len(read) if limit is None else min(len(read), limit)
        n_parts = len(self._parts)
        for number, docs in enumerate(self._docs):
            docs.merge(some_docs(read, slice((number - n_before) % n_parts, n_docs, n_parts)))
            if sum(map(len, docs.tokens)) >= ENOUGH:
                _write(docs, self._parts[number])
                self._docs[number] = _none_of(read)
        return n_docs

    def end(self) -> None:
        """Write the remaining documents."""
        for docs, part in zip(self._docs, self._parts):
            if len(docs):
                _write(docs, part)


def _none_of(read: DocBin) -> DocBin:
    """A DocBin with the settings of another one, and nothing else of it."""
    empty = some_docs(read, slice(0))
    empty.strings = set()
    return empty


def _write(docs: DocBin, part: Path) -> None:
    part.mkdir(parents=True, exist_ok=True)
    docs.to_disk(part / f"{len(list(part.iterdir())):06}{DOCBIN}")
