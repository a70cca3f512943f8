"""Division of a corpus into two parts; the smaller one is kept back for development.

Documents stay in one piece, if there are enough of them: `# newdoc` in CoNLL-U, Docs in .spacy. Sentences and Docs are
copied as they are in their files, valid or not.
"""

import random
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import DocBin
from spacy.training.corpus import FILE_TYPE

from ..wording import counted
from .conllu_reader import SENTENCES, SentenceLines, read_blocks
from .reader import SUFFIXES, corpus_files
from .texts import reading_docs, some_docs

SHARE = 0.1
"""The share of the corpus that is kept back."""


class Division(NamedTuple):
    """The parts of a corpus.

    Attributes:
        train, dev: the content of a file each.
        kind: the units that stay in one piece, such as "documents".
        kept: the units that are kept back: the name of a file → their numbers, from 0, or their first lines, from 1.
        n_units: the number of all units.
        measure: what the sizes count: "sentence" for CoNLL-U, "token" for .spacy.
        dev_size, size: the sizes of the development part and of the whole corpus.
    """

    train: bytes
    dev: bytes
    kind: str
    kept: dict[str, list[int]]
    n_units: int
    measure: str
    dev_size: int
    size: int


@dataclass(frozen=True)
class _Pieces:
    """A corpus in N pieces.

    Attributes:
        sizes: the size of each piece.
        places: the file of each piece, and its number or line there.
        measure: what the sizes count.
        joined: returns the content of a file that consists of the given pieces.
        units: kind → the first piece of each unit, and N; the coarsest kind comes first.
    """

    sizes: list[int]
    places: list[tuple[str, int]]
    measure: str
    joined: Callable[[Sequence[int]], bytes]
    units: dict[str, list[int]]


def divide(path: Path, seed: int) -> Division:
    """Divide a corpus: a .conllu or .spacy file, or the files of a folder, all of one format.

    The units kept back are drawn at random, of the coarsest kind that allows at least half of SHARE; of a few large
    Docs, one is drawn, however large. seed: of the random numbers.

    Raises:
        OSError: a file cannot be opened.
        ValueError: a file cannot be read, there are files of both formats or of none, or there is only one piece.
    """
    files = corpus_files(path)
    suffixes = {file.suffix for file in files}
    if not suffixes or not suffixes <= set(SUFFIXES):
        raise ValueError(
            f"{path} is not, or does not contain, a .conllu or .spacy file; init-config --data divides columns"
        )
    if len(suffixes) > 1:
        raise ValueError(f"{path} has .conllu files and .spacy files: divide them one after the other")
    pieces = _docs(files) if suffixes == {FILE_TYPE} else _sentences(files)
    if len(pieces.sizes) < 2:
        kind = list(pieces.units)[-1].removesuffix("s")
        raise ValueError(f"the corpus has {counted(len(pieces.sizes), kind)}, so there is nothing to divide")
    kind, kept = _kept(pieces, max(1, round(SHARE * sum(pieces.sizes))), seed)
    dev = [piece for unit in kept for piece in unit]
    train = sorted(set(range(len(pieces.sizes))) - set(dev))
    places: dict[str, list[int]] = {}
    for unit in kept:
        name, number = pieces.places[unit[0]]
        places.setdefault(name, []).append(number)
    n_units, dev_size, size = len(pieces.units[kind]) - 1, sum(pieces.sizes[piece] for piece in dev), sum(pieces.sizes)
    parts = pieces.joined(train), pieces.joined(dev)
    return Division(*parts, kind, places, n_units, pieces.measure, dev_size, size)


def _kept(pieces: _Pieces, target: int, seed: int) -> tuple[str, list[range]]:
    """The kind of the units that are kept back, and these units, in order; target: of the sum of their sizes."""
    for kind, firsts in pieces.units.items():
        units = [range(first, end) for first, end in pairwise(firsts)]
        sizes = [sum(pieces.sizes[piece] for piece in unit) for unit in units]
        drawn = _drawn(sizes, target, seed)
        if 2 * sum(sizes[unit] for unit in drawn) >= target:
            return kind, [units[unit] for unit in drawn]
    # Of a few Docs that are all too large or too small, the largest one stays for training.
    *others, _ = sorted(range(len(units)), key=sizes.__getitem__)
    return kind, [units[next((unit for unit in others if 2 * sizes[unit] >= target), others[-1])]]


def _drawn(sizes: Sequence[int], target: int, seed: int) -> list[int]:
    """Numbers of units, in order, whose sizes add up to at most the target; never of all."""
    order = list(range(len(sizes)))
    random.Random(seed).shuffle(order)
    kept: list[int] = []
    total = 0
    for unit in order[1:]:  # The first one stays for training, whatever the sizes are.
        if 0 < sizes[unit] <= target - total:
            kept.append(unit)
            total += sizes[unit]
    return sorted(kept)


def _sentences(files: Sequence[Path]) -> _Pieces:
    """Pieces that are sentences, each with its comments and the separator from the next one."""
    contents: list[bytes] = []
    places: list[tuple[str, int]] = []
    documents: list[int] = []
    stretches: list[int] = []
    marked = False
    for file in files:
        blocks = list(read_blocks(file))
        with file.open("rb") as stream:
            lines = list(stream)
        starts = [0, *(block.line - 1 for block in blocks[1:]), len(lines)]
        own_stretches = _stretches(blocks)
        begins_document = ["newdoc" in block.marks for block in blocks]
        has_documents = any(begins_document)
        marked |= has_documents
        for place, (start, end) in enumerate(pairwise(starts) if blocks else ()):
            if place in own_stretches:
                stretches.append(len(contents))
            if place == 0 or begins_document[place] or (not has_documents and place in own_stretches):
                documents.append(len(contents))
            contents.append(_separated(lines[start:end]))
            places.append((str(file), blocks[place].line))
    n = len(contents)
    units = {f"stretches of {SENTENCES} sentences": [*stretches, n], "sentences": list(range(n + 1))}
    if marked:
        units = {"documents": [*documents, n], **units}
    return _Pieces([1] * n, places, "sentence", lambda chosen: b"".join(contents[piece] for piece in chosen), units)


def _stretches(blocks: Sequence[SentenceLines]) -> set[int]:
    """The first sentences of stretches of at most SENTENCES sentences of a document or paragraph."""
    starts: list[int] = []
    for place, block in enumerate(blocks):
        if not starts or block.begins_text or place - starts[-1] == SENTENCES:
            starts.append(place)
    return set(starts)


def _separated(lines: Sequence[bytes]) -> bytes:
    """The lines of a sentence, with an empty line at the end, and without the byte order mark of a file."""
    content = b"".join(lines).removeprefix(BOM_UTF8)
    if not lines[-1].strip():
        return content
    return content + (b"\n" if content.endswith(b"\n") else b"\n\n")


def _docs(files: Sequence[Path]) -> _Pieces:
    """Pieces that are Docs, which need not be readable."""
    corpus = DocBin()
    places: list[tuple[str, int]] = []
    for file in files:
        with reading_docs(file):
            stored = DocBin().from_disk(file)
        if not places:
            corpus.attrs = stored.attrs
        if stored.attrs != corpus.attrs:
            raise ValueError(f"{file} stores other attributes of tokens than the files before it: divide it by itself")
        corpus.merge(stored)
        places += [(str(file), number) for number in range(len(stored))]
    corpus.store_user_data = any(data is not None for data in corpus.user_data)
    units = {"documents": list(range(len(corpus) + 1))}
    sizes = list(map(len, corpus.tokens))
    return _Pieces(sizes, places, "token", lambda chosen: some_docs(corpus, chosen).to_bytes(), units)
