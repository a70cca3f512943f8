"""Where the repository and the public corpora are, and sentences of the English Web Treebank."""

import os
from functools import cache
from pathlib import Path

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SPACY_SSVM_DATA", ROOT.parent / "shared" / "data"))
"""The folder of corpora, as CONTRIBUTING.md lays it out."""
EWT = DATA / "ud_english_ewt"
UD = DATA / "ud-2.5"
needs_ewt = pytest.mark.skipif(not EWT.is_dir(), reason=f"no English Web Treebank in {EWT}: set SPACY_SSVM_DATA")


def sentences(part: str) -> list[str]:
    """The CoNLL-U text of each sentence of a part: train, dev or test."""
    return (EWT / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf8").strip().split("\n\n")


@cache
def tagged(part: str, number: int) -> list[tuple[list[str], list[str]]]:
    """Words and tags of the first sentences."""
    docs = conllu_to_docs("\n\n".join(sentences(part)[:number]), n_sents=1, no_print=True)
    return [([t.text for t in doc], [t.tag_ for t in doc]) for doc in docs]


def examples(nlp, part: str, number: int) -> list[Example]:
    """The first sentences with their tags."""
    return [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in tagged(part, number)
    ]
