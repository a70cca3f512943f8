"""CoNLL-U files: their sentences, and Docs of them.

The format: https://universaldependencies.org/format.html. Unlike in spaCy's converter, an underscore is no lemma, UPOS
does not replace missing XPOS, and errors name their line. Multi-word tokens, and entities in MISC, are read as there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.attrs import SENT_START
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..files import read_lines
from ..wording import counted, quoted_text

SUFFIX = ".conllu"
N_COLUMNS = 10
SENTENCES = 10
"""Sentences of a Doc, where a file does not say where texts begin; as in `spacy convert -n 10`."""
MAX_SENTENCES = 100
"""Sentences of a Doc, at most: a file can be one text, and jackknifing needs several Docs."""
_ENTITY = re.compile("(?:(?:name|NE)=)?([BILU])-([A-Z_]+)|O$")
"""An entity tag in MISC, as spaCy's converter finds it."""
_NO_TEXT = re.compile("[\udc80-\udcff]")
"""Stand-ins for bytes that are not in UTF-8."""


class SentenceLines(NamedTuple):
    """The lines of a sentence.

    Attributes:
        line: the number of the first one, from 1.
        lines: all of them, with comments, and empty lines between comments; a byte that is not in UTF-8 is a lone
            surrogate, as by Python's "surrogateescape".
    """

    line: int
    lines: list[str]

    @property
    def marks(self) -> set[str]:
        """The first words of comments, such as "newdoc" and "newpar" where a document or a paragraph begins."""
        return {line.lstrip("# ").split(" ")[0] for line in self.lines if line.startswith("#")}

    @property
    def begins_text(self) -> bool:
        """Whether a document or a paragraph begins here."""
        return not self.marks.isdisjoint(("newdoc", "newpar"))

    @property
    def text(self) -> str:
        """Its words, for messages."""
        rows = [line.split("\t") for line in self.lines]
        return " ".join(row[1] for row in rows if len(row) > 1 and row[0].isdecimal())


class Word(NamedTuple):
    """A syntactic word, or a token that several have been merged into.

    Attributes:
        lemma, xpos, upos, feats, deprel: empty if unknown.
        head: the place of its head in the sentence, from 0, its own for a root; None if unknown.
        space: whether a space follows.
        entity: its tag in the IOB scheme, such as "B-PER", or "O".
        line: the number of its line, from 1.
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None
    deprel: str
    space: bool
    entity: str = "O"
    line: int = 0


class MultiWord(NamedTuple):
    """A multi-word token: its form, and the places of its words, from `first` to `end` − 1."""

    form: str
    first: int
    end: int


class ConlluSentence(NamedTuple):
    """A sentence. n_empty: the number of empty nodes, which are left out."""

    words: list[Word]
    multi_words: list[MultiWord]
    n_empty: int


def read_blocks(path: Path) -> Iterator[SentenceLines]:
    """The sentences of a file, not yet parsed; comments before an empty line belong to the sentence after them.

    Raises:
        ValueError: the file cannot be read.
    """
    lines: list[str] = []
    first, has_rows = 1, False
    for number, content in read_lines(path):
        line = content.decode("utf8", "surrogateescape")
        if not line.strip() and has_rows:
            yield SentenceLines(first, lines)
            lines, has_rows = [], False
        elif lines or line.strip():
            first = first if lines else number
            lines.append(line)
            has_rows |= bool(line.strip()) and not line.startswith("#")
    if has_rows:
        yield SentenceLines(first, lines)


def has_entities(path: Path) -> bool:
    """Whether a word of the file has an entity tag in MISC; where none has, entities are not annotated.

    Raises:
        ValueError: the file cannot be read.
    """
    rows = (line.decode("utf8", "replace") for _, line in read_lines(path) if not line.startswith(b"#"))
    return any(_ENTITY.match(part) for row in rows for part in row.rpartition("\t")[2].split("|") if part != "_")


def sentences(
    path: Path, blocks: Iterable[SentenceLines], left_out: list[str]
) -> Iterator[tuple[SentenceLines, ConlluSentence]]:
    """The sentences of a file that a Doc can have; a message about each other one is added to `left_out`."""
    for block in blocks:
        try:
            yield block, annotated(block)
        except ValueError as error:
            left_out.append(f"{path.name}, {error}, in {quoted_text(block.text)}")


def parse(block: SentenceLines) -> ConlluSentence:
    """The sentence of a block.

    Raises:
        ValueError: it is not valid; the message begins with the line.
    """
    words: list[Word] = []
    multi_words: list[MultiWord] = []
    ends_with_space: list[bool] = []
    n_empty = 0
    for number, line in enumerate(block.lines, block.line):
        if line.startswith("#") or not line.strip():
            continue
        if not line.isascii() and _NO_TEXT.search(line):
            raise ValueError(f"line {number}: this is not text in UTF-8")
        columns = line.split("\t")
        if len(columns) != N_COLUMNS:
            raise ValueError(
                f"line {number}: a word has {N_COLUMNS} columns with tabs between them, and this line {len(columns)}"
            )
        name, form = columns[:2]
        space = "SpaceAfter=No" not in columns[9].split("|")
        if not form:
            raise ValueError(f"line {number}: FORM is empty")
        if "." in name:
            n_empty += 1
        elif "-" in name:
            multi_words.append(_multi_word(number, name, form, len(words), multi_words))
            ends_with_space.append(space)
        elif name != str(len(words) + 1):
            raise ValueError(f"line {number}: ID is {name!r}, not {len(words) + 1}: words are counted from 1")
        else:
            words.append(_word(number, len(words), columns, space))
    if not words:
        raise ValueError(f"line {block.line}: a sentence has no words")
    for multi, space in zip(multi_words, ends_with_space):
        if multi.end > len(words):
            raise ValueError(f"line {words[-1].line}: the words of the multi-word token {multi.form!r} end too early")
        for place in range(multi.first, multi.end):
            words[place] = words[place]._replace(space=space and place == multi.end - 1)
    _check_heads(words)
    if any(word.entity != "O" for word in words):
        words = _with_entities(words)
    return ConlluSentence(words, multi_words, n_empty)


def annotated(block: SentenceLines) -> ConlluSentence:
    """The sentence of a block, with annotation that a Doc can have.

    Raises:
        ValueError: it is not valid, or spaCy does not accept its annotation; the message begins with the line.
    """
    sentence = parse(block)
    for word in sentence.words:
        if word.upos not in COARSE_TAGS:
            raise ValueError(
                f"line {word.line}: UPOS is {word.upos!r}, which UD does not have: other tags belong in XPOS"
            )
    return sentence


def merged(sentence: ConlluSentence) -> ConlluSentence:
    """The sentence with each multi-word token as one word, as `spacy convert --merge-subtokens` makes it.

    Tags are joined by underscores, lemmas by spaces, and the values of a feature by commas. The coarse tag, the head,
    the relation and the entity come from the word closest to the root.
    """
    words = sentence.words
    depths = _depths([word.head for word in words])
    spans = {multi.first: multi for multi in sentence.multi_words}
    parts: list[tuple[int, int, str]] = []
    place = 0
    while place < len(words):
        multi = spans.get(place, MultiWord(words[place].form, place, place + 1))
        parts.append((place, multi.end, multi.form))
        place = multi.end
    part_of = [number for number, (first, end, _) in enumerate(parts) for _ in range(first, end)]
    result = []
    for first, end, form in parts:
        top = words[min(range(first, end), key=depths.__getitem__)]
        inside = words[first:end]
        result.append(
            top._replace(
                form=form,
                lemma=" ".join(word.lemma for word in inside if word.lemma),
                xpos="_".join(word.xpos for word in inside if word.xpos),
                feats=_joined_features([word.feats for word in inside]),
                head=None if top.head is None else part_of[top.head],
                space=inside[-1].space,
                entity=_merged_entity(words, first, top),
            )
        )
    return ConlluSentence(_with_entities(result), [], sentence.n_empty)


def doc_of(sentences: Sequence[ConlluSentence], vocab: Vocab, with_entities: bool = False) -> Doc:
    """A Doc of these sentences, with a token for each word.

    Args:
        with_entities: whether entities are annotated.

    Raises:
        ValueError: spaCy does not accept the annotation, such as a UPOS that UD does not have.
    """
    words = [word for sentence in sentences for word in sentence.words]
    starts = list(accumulate((len(sentence.words) for sentence in sentences), initial=0))
    offsets = [start for start, sentence in zip(starts, sentences) for _ in sentence.words]
    is_start = np.full(len(words), -1, np.int64)
    is_start[starts[:-1]] = 1
    columns: dict[str, Any] = {
        "words": [word.form for word in words],
        "spaces": [word.space for word in words],
        "tags": [word.xpos for word in words],
        "pos": [word.upos for word in words],
        "morphs": [word.feats for word in words],
        "lemmas": [word.lemma for word in words],
    }
    if any(word.head is not None for word in words):
        heads = enumerate(zip(words, offsets))
        columns["heads"] = [i if word.head is None else offset + word.head for i, (word, offset) in heads]
        columns["deps"] = ["ROOT" if word.deprel == "root" else word.deprel for word in words]
    if with_entities:
        columns["ents"] = [word.entity for word in words]
    doc = Doc(vocab, **columns)
    # spaCy starts a sentence at each root, and there may be several.
    doc.from_array([SENT_START], cast(Any, is_start.view(np.uint64)))
    return doc


def texts(blocks: Iterable[SentenceLines], one_each: bool = False) -> Iterator[list[SentenceLines]]:
    """The blocks that become a Doc together: at most MAX_SENTENCES of a text, or SENTENCES of a file without marks.

    Args:
        one_each: a Doc for each sentence.
    """
    text: list[SentenceLines] = []
    has_marks = False
    for block in blocks:
        has_marks |= block.begins_text
        is_full = len(text) == (1 if one_each else MAX_SENTENCES if has_marks else SENTENCES)
        if text and (is_full or block.begins_text):
            yield text
            text = []
        text.append(block)
    if text:
        yield text


def place_of(path: Path, text: Sequence[SentenceLines]) -> str:
    """Where a text is, for messages."""
    return f"{path.name}, line {text[0].line}"


def _multi_word(line: int, name: str, form: str, n_words: int, before: Sequence[MultiWord]) -> MultiWord:
    first, _, last = name.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) == n_words + 1 <= int(last)):
        raise ValueError(f"line {line}: ID {name!r} of a multi-word token is not N-M with N = {n_words + 1} and M ≥ N")
    if before and before[-1].end > n_words:
        raise ValueError(f"line {line}: a multi-word token begins inside {before[-1].form!r}")
    return MultiWord(form, n_words, int(last))


def _word(line: int, place: int, columns: Sequence[str], space: bool) -> Word:
    _, form, lemma, upos, xpos, feats, head, deprel, _, misc = ("" if column == "_" else column for column in columns)
    if head and not head.isdecimal():
        raise ValueError(f"line {line}: HEAD is {head!r}, not a number")
    if head and int(head) == place + 1:
        raise ValueError(f"line {line}: HEAD is {head}, the word itself")
    if not all(feature.count("=") == 1 for feature in feats.split("|") if feats):
        raise ValueError(f"line {line}: FEATS is {feats!r}, not of the form Name=Value|Name=Value")
    of_head = (int(head) or place + 1) - 1 if head else None
    is_underscore = columns[1] == "_"
    known = "_" if is_underscore else lemma
    return Word(form or "_", known, upos, xpos, feats, of_head, deprel, space, _entity(misc) if misc else "O", line)


def _entity(misc: str) -> str:
    """The first entity tag in MISC, in any of the schemes that spaCy's converter reads."""
    for part in misc.split("|"):
        if match := _ENTITY.match(part):
            return f"{match[1]}-{match[2]}" if match[1] else "O"
    return "O"


def _with_entities(words: Sequence[Word]) -> list[Word]:
    """The words with entity tags in the IOB scheme: I and L continue the entity of the word before, if they can."""
    tags = [word.entity for word in words]
    inside = [tag[0] in "IL" and tag[2:] == before[2:] for tag, before in zip(tags, ["O", *tags])]
    begun = ["I" if goes_on else "B" for goes_on in inside]
    return [
        word if word.entity == "O" else word._replace(entity=begin + word.entity[1:])
        for word, begin in zip(words, begun)
    ]


def _merged_entity(words: Sequence[Word], first: int, top: Word) -> str:
    """The tag of merged words, as in spaCy's retokenizer; first: the first word; top: the one closest to the root."""
    if top.entity == "O":
        return "O"
    start, before = words[first].entity, words[first - 1].entity if first else "O"
    goes_on = start[0] == "I" and start[2:] == top.entity[2:] == before[2:]
    return ("I" if goes_on else "B") + top.entity[1:]


def _check_heads(words: Sequence[Word]) -> None:
    for word in words:
        if word.head is not None and word.head >= len(words):
            raise ValueError(
                f"line {word.line}: HEAD is {word.head + 1}, and the sentence has {counted(len(words), 'word')}"
            )
    for word, depth in zip(words, _depths([word.head for word in words])):
        if depth > len(words):
            raise ValueError(f"line {word.line}: the heads form a cycle")


def _depths(heads: Sequence[int | None]) -> list[int]:
    """The number of steps from each word to its tree's root; above the number of words if it has none."""
    depths = []
    for place in range(len(heads)):
        depth = 0
        while (head := heads[place]) is not None and head != place and depth <= len(heads):
            place = head
            depth += 1
        depths.append(depth)
    return depths


def _joined_features(many: Sequence[str]) -> str:
    values: dict[str, set[str]] = {}
    for feature in "|".join(filter(None, many)).split("|"):
        if feature:
            name, value = feature.split("=", 1)
            values.setdefault(name, set()).update(value.split(","))
    return "|".join(sorted(f"{name}={','.join(sorted(found))}" for name, found in values.items()))
