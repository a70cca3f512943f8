"""Sentences of the corpora, as contenders take them."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab


class Sentence(NamedTuple):
    """Words, and what is annotated; ents: BILUO tags."""

    words: list[str]
    tags: list[str]
    pos: list[str]
    ents: list[str]


def read_docs(path: Path, limit: int | None = None) -> list[Doc]:
    """The first Docs of a .spacy file.

    Raises:
        FileNotFoundError: it is not there.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: run the command `convert` of the project")
    return list(islice(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab), limit))


def read(path: Path, limit: int | None = None) -> list[Sentence]:
    """The first sentences of a .spacy file with one in each Doc; raises what `read_docs` raises."""
    return [
        Sentence(
            [token.text for token in doc],
            [token.tag_ for token in doc],
            [token.pos_ for token in doc],
            [tag or "O" for tag in Example(doc, doc).get_aligned_ner()],
        )
        for doc in read_docs(path, limit)
    ]


def bare(vocab: Vocab, sentences: Sequence[Sentence]) -> list[Doc]:
    """New Docs of nothing but words."""
    return [Doc(vocab, words=sentence.words) for sentence in sentences]


def tagged(vocab: Vocab, sentences: Sequence[Sentence]) -> list[Doc]:
    """New Docs of one sentence each, with tags: what a parser is given."""
    return [
        Doc(vocab, words=words, tags=tags, pos=pos, sent_starts=[True, *[False] * (len(words) - 1)])
        for words, tags, pos, _ in sentences
    ]


def n_tokens(sentences: Sequence[Sentence]) -> int:
    return sum(len(sentence.words) for sentence in sentences)
