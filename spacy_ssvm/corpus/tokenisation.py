"""How much of the annotated tokens the tokenizer of a pipeline finds in raw text."""

import logging
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import LENGTH, SPACY
from spacy.language import Language
from spacy.tokens import Doc

LOGGER = logging.getLogger("spacy")

ENOUGH = 0.95
"""The share of tokens below which a tokenizer does not fit a corpus.

On development sets of UD, spaCy's tokenizers find at least 97.3 % of the tokens of a language that they know (English
98.3, Irish 97.3, Afrikaans 97.7, Hungarian 100), but 94 % if the treebank divides words (Turkish, Greek), and 82 % if
words contain spaces (Vietnamese).
"""

SAMPLE = 1000
"""Examples, at most, that are tokenised again before training."""

OWN_TOKENIZERS = {
    "ja": '@tokenizers = "spacy.ja.JapaneseTokenizer", which needs the packages sudachipy and sudachidict_core',
    "ko": '@tokenizers = "spacy.ko.KoreanTokenizer", which needs the package natto-py, and MeCab',
    "th": '@tokenizers = "spacy.th.ThaiTokenizer", which needs the package pythainlp',
    "vi": '@tokenizers = "spacy.vi.VietnameseTokenizer" with use_pyvi = true, which needs the package pyvi',
    "zh": '@tokenizers = "spacy.zh.ChineseTokenizer" with segmenter = "jieba", which needs the package jieba',
}
"""Languages that have a tokenizer of their own in spaCy, and how [nlp.tokenizer] selects it."""

_WEAK = {"segmenter": "char", "use_pyvi": False}
"""Settings with which these tokenizers do not look for words."""


class Misfit(NamedTuple):
    """A Doc that the tokenizer divides differently.

    Attributes:
        number: its place among the Docs.
        tokens: int64, ascending, the ones that the tokenizer does not find.
    """

    number: int
    tokens: np.ndarray


class Retokenised(NamedTuple):
    """The result of tokenising the texts of Docs again.

    Attributes:
        n_docs, n_tokens: how many Docs there are, and tokens in them.
        misfits: the Docs that came out differently.
        remedy: what to do if these are too many.
    """

    n_docs: int
    n_tokens: int
    misfits: list[Misfit]
    remedy: str

    @property
    def n_lost(self) -> int:
        """The number of annotated tokens that the tokenizer does not find."""
        return sum(len(misfit.tokens) for misfit in self.misfits)

    @property
    def fits(self) -> bool:
        """Whether the tokenizer finds enough of the tokens."""
        return self.n_lost <= (1 - ENOUGH) * self.n_tokens


def retokenised(nlp: Language, docs: Iterable[Doc]) -> Retokenised | None:
    """Tokenise the texts of these Docs again; None if the tokenizer fails, as one does that takes no texts.

    The words of the result do not stay in the vocabulary.
    """
    n_docs = n_tokens = 0
    misfits = []
    vocab: Any = nlp.vocab
    with nullcontext() if vocab.in_memory_zone else vocab.memory_zone():
        for number, doc in enumerate(docs):
            try:
                found = _bounds(nlp.tokenizer(doc.text))
            except Exception as error:
                LOGGER.debug("The tokenizer fails, and is not compared with the corpus: %s", error)
                return None
            bounds = _bounds(doc)
            lost = np.flatnonzero(~np.isin(bounds, found))
            if len(lost) or len(bounds) != len(found):
                misfits.append(Misfit(number, lost))
            n_docs += 1
            n_tokens += len(doc)
    return Retokenised(n_docs, n_tokens, misfits, _remedy(nlp))


def _bounds(doc: Doc) -> np.ndarray:
    """The first character and the length of each token in one number, int64 [T]."""
    if not len(doc):
        return np.zeros(0, np.int64)
    lengths, spaces = np.asarray(doc.to_array([LENGTH, SPACY])).astype(np.int64).T
    starts = np.cumsum(lengths + spaces) - lengths - spaces
    return np.asarray(starts << 32 | lengths)


def _remedy(nlp: Language) -> str:
    settings = nlp.config["nlp"]["tokenizer"]
    own = type(nlp).default_config["nlp"]["tokenizer"]["@tokenizers"]
    is_weak = settings.get("@tokenizers") != own or any(settings.get(key) == value for key, value in _WEAK.items())
    if nlp.lang in OWN_TOKENIZERS and is_weak:
        return f'for lang = "{nlp.lang}", set [nlp.tokenizer] to {OWN_TOKENIZERS[nlp.lang]}'
    return (
        "if the treebank divides words, set merge_subtokens = true (spacy convert --merge-subtokens); otherwise adapt "
        "[nlp.tokenizer], or pass the pipeline Docs of your own tokens instead of texts"
    )
