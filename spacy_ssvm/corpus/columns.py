"""Files with a word a line, as corpora of entities come: words in the first column, tags of entities in the last one.

Columns are separated by tabs or spaces, but not by other white space, which words may have; sentences by lines without
text. A line that begins with -DOCSTART- begins a document; without any, each sentence is one. Of three columns or more,
the second one has parts of speech. Lines before a sentence that begin with # and a space or tab, and have no tag at
their end, are comments.

Or files with a sentence a line, of words such as New|B-GPE or New|NNP|B-GPE.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..files import format_of, read_lines, text_of

SUFFIXES = (".conll", ".ner", ".iob", ".iob2", ".bio", ".tsv", ".txt")
"""Ends of the names of such files; others in a folder are ignored."""

_OTHERS = (".spacy", ".conllu", ".json", ".jsonl", ".cfg", ".zip")
"""Ends of the names of files in other formats; one that is named may have any other."""

_MARK = "-DOCSTART-"
_COMMENTS = ("# ", "#\t")
"""Beginnings of comments: words may begin with #."""
_TAG = re.compile(r"O|([BILUSEM])-(\S+)")
"""An entity tag in any of the schemes IOB, IOB2, BILUO and IOBES."""
_BEGIN = "BUS"
_SENTENCE = re.compile(r"(?:[^\s|]+(?:\|[^\s|]+)?\|(?:O|[BILUSEM]-[^\s|]+)(?:\s+|$))+")
"""A line that is a sentence, as in spaCy's .iob files."""


class _Row(NamedTuple):
    word: str
    pos: str
    entity: str


def may_have_columns(path: Path) -> bool:
    """Whether a file's name does not tell another format."""
    return format_of(path) not in _OTHERS


def read_columns(path: Path, vocab: Vocab, left_out: list[str]) -> Iterator[Doc]:
    """The documents of a file.

    Args:
        left_out: gets the place and error of each sentence that cannot be read.

    Raises:
        ValueError: the file cannot be read.
    """
    has_marks = False
    document: list[list[_Row]] = []
    for lines in _blocks(path):
        is_mark = lines[0][1].startswith(_MARK)
        has_marks |= is_mark
        if document and (is_mark or not has_marks):
            yield _doc(document, vocab)
            document = []
        try:
            rows = [row for number, line in lines[int(is_mark) :] if (row := _row(line, number)).word]
            if len(rows) > 1 and [row.word for row in rows] == [str(count) for count in range(1, len(rows) + 1)]:
                raise ValueError(f"line {lines[0][0]}: the first column has numbers, and is to have the words")
        except ValueError as error:
            left_out.append(f"{path.name}, {error}")
            continue
        if rows:
            document.append(rows)
    if document:
        yield _doc(document, vocab)


def _blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Lines between lines without text, with their numbers and without comments; a mark begins another block.

    A line that is a sentence is a block with a line a word. A byte that is not in UTF-8 is a lone surrogate, as by
    Python's "surrogateescape".
    """
    block: list[tuple[int, str]] = []
    for number, content in read_lines(path):
        line = content.decode("utf8", "surrogateescape").rstrip()
        is_first = not block or (len(block) == 1 and block[0][1].startswith(_MARK))
        if is_first and (line + " ").startswith(_COMMENTS) and _TAG.fullmatch(line.split()[-1]) is None:
            continue
        is_sentence = _SENTENCE.fullmatch(line) is not None
        if block and (not line or line.startswith(_MARK) or is_sentence):
            yield block
            block = []
        if is_sentence:
            yield [(number, word.replace("|", "\t")) for word in line.split()]
        elif line:
            block.append((number, line))
    if block:
        yield block


def _row(line: str, number: int) -> _Row:
    try:
        text_of(line.encode("utf8", "surrogateescape"))
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
    columns = [column.strip() for column in (line.split("\t") if "\t" in line else re.split(" +", line.strip(" ")))]
    if len(columns) < 2 or _TAG.fullmatch(columns[-1]) is None:
        raise ValueError(
            f"line {number}: the last of several columns is to be the tag of an entity, such as B-PER or O, and this "
            f"is {line[:80]!r}"
        )
    pos = columns[1] if len(columns) > 2 else ""
    return _Row(columns[0], "" if pos in ("-", "_", "-X-") else pos, columns[-1])


def _doc(sentences: Sequence[Sequence[_Row]], vocab: Vocab) -> Doc:
    rows = [row for sentence in sentences for row in sentence]
    return Doc(
        vocab,
        words=[row.word for row in rows],
        tags=[row.pos for row in rows],
        ents=[tag for sentence in sentences for tag in _iob2([row.entity for row in sentence])],
        sent_starts=[place == 0 for sentence in sentences for place in range(len(sentence))],
    )


def _iob2(tags: Sequence[str]) -> Iterator[str]:
    """The same entities, each with a B at its first word: where another one ends, or another label begins."""
    before = "O"
    for tag in tags:
        label = tag[2:]
        begins = tag[0] in _BEGIN or before[2:] != label or before[0] in "LEUS"
        yield "O" if tag == "O" else f"{'B' if begins else 'I'}-{label}"
        before = tag
