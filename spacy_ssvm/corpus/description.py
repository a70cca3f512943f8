"""Descriptions of corpora: their annotation, and how they are divided, by which a config is chosen."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, HEAD, LEMMA, MORPH, POS, SENT_START, SPACY, TAG
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..files import listed, read_lines
from . import conllu_reader
from .columns import SUFFIXES as COLUMNS
from .columns import may_have_columns
from .reader import SUFFIXES, SentenceCorpus, corpus_files, kind_of

LANGUAGE = re.compile(r"(?:train[-_.])?(?!ud[-_.])([a-z]{2,3})[-_.]", re.IGNORECASE)
"""The code in a file name such as `tr_imst-ud-train.conllu`, as in UD, `tr-train.conllu` or `train.tr.conllu`."""

_DEV = re.compile("dev|validation|valid|(?<![a-z])val(?![a-z])", re.IGNORECASE)
"""The names of the development part."""

PART = re.compile(f"train|test|{_DEV.pattern}", re.IGNORECASE)
"""The parts of a corpus that files are named after."""

_BEGINS, _OUTSIDE = 3, 2
"""Values of ENT_IOB; 1 is inside an entity, and 0 is not annotated."""


@dataclass(frozen=True)
class CorpusDescription:
    """The annotation of a corpus; all shares are from 0 to 1.

    Attributes:
        train: a file, or a folder of files.
        dev: the same, None if there is none.
        n_dev, n_known: its Docs, and how many of them have the text of a training Doc.
        dev_entities: the number of its entities of each label.
        bad: the pieces of all these files that cannot be read, each with its place and the error.
        is_conllu: whether all training files are in CoNLL-U; then the bad pieces are sentences, otherwise Docs.
        n_sentences, n_words, n_docs: the training sentences that can be read, their words, and the Docs that a reader
            makes of them. A Doc without sentence boundaries is one sentence.
        n_multi_words: multi-word tokens of CoNLL-U.
        n_empty: empty nodes of CoNLL-U.
        n_with_spaces: words that contain a space.
        no_space: the share of words without a space after them.
        xpos, upos, feats, lemmas, heads: the share of words that have each.
        xpos_of: the XPOS tags of each UPOS tag.
        n_analyses: the number of different pairs of UPOS and FEATS.
        feats_by_tags: the share of words whose FEATS are the most frequent ones of their pair of UPOS and XPOS.
        crossing, several_roots: the share of sentences with crossing arcs, and with several roots.
        entities: the number of entities of each label.
        with_entities: the share of words annotated as in or outside entities.
        in_entities: of these, the share of words that are.
    """

    train: Path
    dev: Path | None
    n_dev: int
    n_known: int
    dev_entities: Mapping[str, int]
    bad: Sequence[str]
    is_conllu: bool
    n_sentences: int
    n_words: int
    n_docs: int
    n_multi_words: int
    n_empty: int
    n_with_spaces: int
    no_space: float
    xpos: float
    upos: float
    feats: float
    lemmas: float
    heads: float
    xpos_of: Mapping[str, Collection[str]]
    n_analyses: int
    feats_by_tags: float
    crossing: float
    several_roots: float
    entities: Mapping[str, int]
    with_entities: float
    in_entities: float

    @property
    def pieces(self) -> str:
        """The name of the pieces that are left out if they cannot be read."""
        return "sentences" if self.is_conllu else "documents"


def describe(train: Path, dev: Path | None, merge_subtokens: bool = False) -> CorpusDescription:
    """The description of a corpus in .spacy or .conllu files.

    Args:
        merge_subtokens: take each multi-word token of CoNLL-U for a word, as the reader does.

    Raises:
        ValueError: a file cannot be read, or none of the sentences of training or development can.
    """
    bad: list[str] = []
    n: Counter[str] = Counter()
    analyses: Counter[tuple[str, str, str]] = Counter()
    entities: Counter[str] = Counter()
    dev_entities: Counter[str] = Counter()
    known: set[str] = set()
    for doc in _docs(train, merge_subtokens, bad):
        known.add(doc.text)
        n += _counts(doc)
        pos, tag, morph = np.asarray(doc.to_array([POS, TAG, MORPH])).T
        upos, xpos, features = (_texts(doc.vocab.strings, keys) for keys in (pos, tag, morph))
        # spaCy's converter writes an underscore for words without features.
        analyses.update(zip(upos, xpos, ("" if text == "_" else text for text in features)))
        entities.update(_labels(doc))
    n_dev = n_known = 0
    for doc in _docs(dev, merge_subtokens, bad) if dev is not None else ():
        n_dev += 1
        n_known += doc.text in known
        dev_entities.update(_labels(doc))
    for file in corpus_files(train):
        if file.name.endswith(conllu_reader.SUFFIX):
            n.update(kind for _, line in read_lines(file) if (kind := _kind_of_row(line)))
    xpos_of: dict[str, set[str]] = {}
    by_tags: Counter[tuple[str, str]] = Counter()
    for (of_upos, of_xpos, _), count in analyses.items():
        if of_xpos:
            xpos_of.setdefault(of_upos, set()).add(of_xpos)
        by_tags[of_upos, of_xpos] = max(by_tags[of_upos, of_xpos], count)
    n_words, n_sentences = n["words"], n["sentences"]
    has_xpos, has_upos, has_feats = (
        sum(count for analysis, count in analyses.items() if analysis[place]) / n_words for place in (1, 0, 2)
    )
    return CorpusDescription(
        train=train,
        dev=dev,
        n_dev=n_dev,
        n_known=n_known,
        dev_entities=dev_entities,
        bad=bad,
        is_conllu=all(file.name.endswith(conllu_reader.SUFFIX) for file in corpus_files(train)),
        n_sentences=n_sentences,
        n_words=n_words,
        n_docs=n["docs"],
        n_multi_words=n["multi-words"],
        n_empty=n["empty"],
        n_with_spaces=n["with spaces"],
        no_space=n["no space"] / n_words,
        xpos=has_xpos,
        upos=has_upos,
        feats=has_feats,
        lemmas=n["lemmas"] / n_words,
        heads=n["heads"] / n_words,
        xpos_of=xpos_of,
        n_analyses=len({(analysis[0], analysis[2]) for analysis in analyses}),
        feats_by_tags=by_tags.total() / n_words,
        crossing=n["crossing"] / n_sentences,
        several_roots=n["several roots"] / n_sentences,
        entities=entities,
        with_entities=n["with entities"] / n_words,
        in_entities=n["in entities"] / max(1, n["with entities"]),
    )


def _docs(path: Path, merge_subtokens: bool, bad: list[str]) -> Iterator[Doc]:
    """The Docs of a corpus that can be read; a message about each other one is added to `bad`.

    Raises:
        ValueError: a file cannot be read, or none of the Docs can.
    """
    corpus = SentenceCorpus(path, merge_subtokens=merge_subtokens)
    is_empty = True
    for doc in corpus.read_docbin(Vocab(), corpus_files(path)):
        is_empty = False
        yield doc
    bad += corpus.left_out
    if is_empty:
        what = kind_of(corpus_files(path))
        raise ValueError(f"{path} has no {what} that can be read{': ' if bad else ''}{listed(corpus.left_out)}")


def _texts(strings: StringStore, keys: np.ndarray) -> list[str]:
    known = {key: strings[key] for key in np.unique(keys).tolist()}
    return [known[key] for key in keys.tolist()]


def _labels(doc: Doc) -> list[str]:
    """The label of each entity."""
    iob, label = np.asarray(doc.to_array([ENT_IOB, ENT_TYPE])).T
    return _texts(doc.vocab.strings, label[iob == _BEGINS])


def _counts(doc: Doc) -> Counter[str]:
    """The counts of a Doc, which `describe` adds up."""
    lemma, space, start, iob = np.asarray(doc.to_array([LEMMA, SPACY, SENT_START, ENT_IOB])).T
    bounds = [0, *(1 + np.flatnonzero(start[1:] == 1)).tolist(), len(doc)]
    counts = Counter(
        {
            "docs": 1,
            "words": len(doc),
            "sentences": len(bounds) - 1,
            "with spaces": sum(" " in token.text for token in doc),
            "no space": int((space == 0).sum()),
            "lemmas": int((lemma != 0).sum()),
            "with entities": int((iob != 0).sum()),
            "in entities": int(((iob != 0) & (iob != _OUTSIDE)).sum()),
        }
    )
    heads = _heads(doc)
    counts["heads"] = sum(head is not None for head in heads)
    for first, end in pairwise(bounds) if counts["heads"] else ():
        sentence = [None if head is None else head - first for head in heads[first:end]]
        counts["crossing"] += has_crossing_arcs(sentence)
        counts["several roots"] += n_roots(sentence) > 1
    return counts


def _heads(doc: Doc) -> list[int | None]:
    """The places of the tokens' heads, their own for roots; None where none is annotated."""
    head, dep = np.asarray(doc.to_array([HEAD, DEP])).T
    if not head.any() and not dep.any():
        return []
    steps = head.astype(np.int64).tolist()
    return [token + step if step or label else None for token, (step, label) in enumerate(zip(steps, dep.tolist()))]


def _kind_of_row(line: bytes) -> str | None:
    number = line.partition(b"\t")[0]
    if not number[:1].isdigit():
        return None
    return "multi-words" if b"-" in number else "empty" if b"." in number else None


def find_files(path: Path) -> tuple[Path, Path | None]:
    """The training and the development corpus that a path names.

    Args:
        path: the training file; the development file may lie next to it, under the same name with `dev`, `valid`,
            `validation` or `val` for `train`. Or a folder with files of one format that are named so; one with training
            files only is a corpus as a whole, and so is one with .spacy or .conllu files that are named after no part,
            such as annotated shards.

    Raises:
        ValueError: there is no such file, or there are several.
    """
    if path.is_file():
        if not path.name.endswith(SUFFIXES) and not may_have_columns(path):
            raise ValueError(
                f"{path} is no corpus that can be read: name a .spacy or .conllu file, or one with a word and its "
                "entity tag a line, or convert it with python -m spacy convert"
            )
        beside = (file for file in sorted(path.parent.iterdir()) if file != path and file.is_file())
        return path, next((file for file in beside if _DEV.sub("train", file.name) == path.name), None)
    if not path.is_dir():
        raise ValueError(f"there is no file or folder {path}")
    whole = corpus_files(path)
    of_formats = [sorted(path.glob(f"*{suffix}")) for suffix in (*SUFFIXES, *COLUMNS)]
    files = next((found for found in of_formats if any("train" in file.name.lower() for file in found)), [])
    train = [file for file in files if "train" in file.name.lower()]
    dev_files = [file for file in files if file not in train and _DEV.search(file.name)]
    if not train:
        if whole and not any(PART.search(str(file.relative_to(path))) for file in whole):
            return path, None
        raise ValueError(
            f"{path} has no file *train* in a format that can be read ({', '.join((*SUFFIXES, *COLUMNS))}): name the "
            "training file instead of the folder"
        )
    if len(dev_files) > 1 or (len(train) > 1 and train != files_of(path)):
        many = dev_files if len(dev_files) > 1 else train
        raise ValueError(
            f"{path} has several files of a kind ({listed([file.name for file in many])}): put the training files into "
            "a folder of their own, and name that folder, or name one training file"
        )
    return train[0] if len(train) == 1 else path, dev_files[0] if dev_files else None


def column_files(folder: Path) -> list[Path]:
    """The files of a folder with a word a line; if some are named after a part of the corpus, these."""
    files = [file for suffix in COLUMNS for file in sorted(folder.glob(f"*{suffix}"))]
    return [file for file in files if PART.search(file.name)] or files


def files_of(path: Path) -> list[Path]:
    """The files of a corpus: the file at the path, or those of a folder, of columns if it has no others."""
    return corpus_files(path) or column_files(path)


def language_of(train: Path) -> str | None:
    """The language's code in the name of a training file, None if there is none."""
    match = LANGUAGE.match(files_of(train)[0].name)
    return match[1].lower() if match else None


def has_crossing_arcs(heads: Sequence[int | None]) -> bool:
    """Whether arcs of a tree cross, including the arc from an artificial root on the left.

    Args:
        heads: the place of each word's head, its own for a root; None if unknown.
    """
    known = [(place, -1 if head == place else head) for place, head in enumerate(heads) if head is not None]
    arcs = sorted(((min(arc), max(arc)) for arc in known), key=lambda arc: (arc[0], -arc[1]))
    open_ends: list[int] = []
    for first, end in arcs:
        while open_ends and open_ends[-1] <= first:
            open_ends.pop()
        if open_ends and open_ends[-1] < end:
            return True
        open_ends.append(end)
    return False


def n_roots(heads: Sequence[int | None]) -> int:
    """The number of words that are roots."""
    return sum(head == place for place, head in enumerate(heads))
