"""A treebank in CoNLL-U: its files, and what they annotate."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import listed
from . import conllu_reader
from .conllu_reader import ConlluSentence
from .reader import corpus_files

LANGUAGE = re.compile(r"(?:train[-_.])?(?!ud[-_.])([a-z]{2,3})[-_.]", re.IGNORECASE)
"""The code in a file name such as `tr_imst-ud-train.conllu`, as in UD, `tr-train.conllu` or `train.tr.conllu`."""


@dataclass(frozen=True)
class Treebank:
    """The annotation of a treebank; all shares are from 0 to 1.

    Attributes:
        train: a file, or a folder of files.
        dev: a file, None if there is none.
        lang: the language's code in the name of a file, None if there is none.
        bad: the sentences of all these files that cannot be read, each with its place and the error.
        n_sentences, n_words, n_docs: the training sentences that can be read, their words, and the Docs that a reader
            makes of them.
        n_multi_words: multi-word tokens.
        n_empty: empty nodes.
        n_with_spaces: words that contain a space.
        no_space: the share of words without a space after them.
        xpos, upos, feats, lemmas, heads: the share of words that have each.
        xpos_of: the XPOS tags of each UPOS tag.
        n_analyses: the number of different pairs of UPOS and FEATS.
        feats_by_tags: the share of words whose FEATS are the most frequent ones of their pair of UPOS and XPOS.
        crossing, several_roots: the share of sentences with crossing arcs, and with several roots.
    """

    train: Path
    dev: Path | None
    lang: str | None
    bad: Sequence[str]
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


def analyse_treebank(path: Path, merge_subtokens: bool = False) -> Treebank:
    """The treebank at a path: a training file in CoNLL-U, or a folder as `find_files` reads it.

    Args:
        merge_subtokens: take each multi-word token for a word, as the reader does.

    Raises:
        ValueError: there are no training files, a file cannot be read, or none of the sentences of training or
            development can.
    """
    train, dev = find_files(path)
    files = corpus_files(train)
    bad: list[str] = []
    sentences: list[ConlluSentence] = []
    n_docs = n_multi_words = 0
    for file in files:
        for blocks in conllu_reader.texts(conllu_reader.read_blocks(file)):
            found = [sentence for _, sentence in conllu_reader.sentences(file, blocks, bad)]
            n_docs += bool(found)
            n_multi_words += sum(len(sentence.multi_words) for sentence in found)
            sentences += map(conllu_reader.merged, found) if merge_subtokens else found
    _require_some(train, sentences, bad)
    if dev is not None:
        bad_of_dev: list[str] = []
        _require_some(dev, list(conllu_reader.sentences(dev, conllu_reader.read_blocks(dev), bad_of_dev)), bad_of_dev)
        bad += bad_of_dev
    words = [word for sentence in sentences for word in sentence.words]
    xpos_of: dict[str, set[str]] = {}
    feats_of: dict[tuple[str, str], Counter[str]] = {}
    for word in words:
        if word.xpos:
            xpos_of.setdefault(word.upos, set()).add(word.xpos)
        feats_of.setdefault((word.upos, word.xpos), Counter())[word.feats] += 1
    match = LANGUAGE.match(files[0].name)
    return Treebank(
        train=train,
        dev=dev,
        lang=match[1].lower() if match else None,
        bad=bad,
        n_sentences=len(sentences),
        n_words=len(words),
        n_docs=n_docs,
        n_multi_words=n_multi_words,
        n_empty=sum(sentence.n_empty for sentence in sentences),
        n_with_spaces=sum(" " in word.form for word in words),
        no_space=_share(not word.space for word in words),
        xpos=_share(bool(word.xpos) for word in words),
        upos=_share(bool(word.upos) for word in words),
        feats=_share(bool(word.feats) for word in words),
        lemmas=_share(bool(word.lemma) for word in words),
        heads=_share(word.head is not None for word in words),
        xpos_of=xpos_of,
        n_analyses=len({(word.upos, word.feats) for word in words}),
        feats_by_tags=sum(max(counts.values()) for counts in feats_of.values()) / len(words),
        crossing=_share(map(has_crossing_arcs, sentences)),
        several_roots=_share(n_roots(sentence) > 1 for sentence in sentences),
    )


def _require_some(path: Path, sentences: Sequence[object], bad: Sequence[str]) -> None:
    if not sentences:
        raise ValueError(f"{path} has no sentences that can be read{': ' if bad else ''}{listed(bad)}")


def find_files(path: Path) -> tuple[Path, Path | None]:
    """The training and the development corpus of a treebank.

    Args:
        path: the training file, beside which the development file may lie: under the same name, with `dev` for `train`.
            Or a folder with files `*train*.conllu` and `*dev*.conllu`; one with training files only is a corpus as a
            whole.

    Raises:
        ValueError: there is no such file, or there are several.
    """
    if path.is_file():
        if path.suffix != conllu_reader.SUFFIX:
            raise ValueError(f"{path} is no {conllu_reader.SUFFIX} file")
        dev = path.with_name(path.name.replace("train", "dev"))
        return path, dev if dev != path and dev.is_file() else None
    if not path.is_dir():
        raise ValueError(f"there is no file or folder {path}")
    files = sorted(path.glob(f"*{conllu_reader.SUFFIX}"))
    train, dev_files = ([file for file in files if part in file.name] for part in ("train", "dev"))
    if not train:
        raise ValueError(f"{path} has no file *train*.conllu: name the training file instead of the folder")
    if len(dev_files) > 1 or (len(train) > 1 and train != files):
        many = dev_files if len(dev_files) > 1 else train
        raise ValueError(
            f"{path} has several files of a kind ({listed([file.name for file in many])}): put the training files into "
            "a folder of their own, and name that folder, or name one training file"
        )
    return train[0] if len(train) == 1 else path, dev_files[0] if dev_files else None


def has_crossing_arcs(sentence: ConlluSentence) -> bool:
    """Whether arcs of the tree cross; that from an artificial root on the left counts, too."""
    arcs = []
    for place, word in enumerate(sentence.words):
        if word.head is not None:
            arcs.append(tuple(sorted((place, -1 if word.head == place else word.head))))
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_ends: list[int] = []
    for first, end in arcs:
        while open_ends and open_ends[-1] <= first:
            open_ends.pop()
        if open_ends and open_ends[-1] < end:
            return True
        open_ends.append(end)
    return False


def n_roots(sentence: ConlluSentence) -> int:
    """The number of words that are roots."""
    return sum(word.head == place for place, word in enumerate(sentence.words))


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found)
