"""The reader "spacy-ssvm.Corpus.v1": spaCy's Corpus, with given annotation brought to the components."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from spacy.attrs import LEMMA, MORPH, NORM, POS, TAG
from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.vocab import Vocab

COLUMNS = {"tag": TAG, "pos": POS, "lemma": LEMMA, "morph": MORPH, "norm": NORM}


MOST_KEPT = 2_000_000
"""Tokens of a corpus that are kept in memory between two readings; a larger one is read from disk each time."""


class ColumnCorpus:
    """Examples whose predicted Docs carry columns of the reference: gold tags for a chunker, say.

    corpus: where the examples come from. columns: names among tag, pos, lemma, morph and norm. keep: hold what was
    read in memory, so that the corpus is parsed once and not at each evaluation; the references are then the same
    Docs in every pass.
    """

    def __init__(self, corpus: Corpus, columns: Sequence[str], keep: bool = True) -> None:
        unknown = sorted(set(columns) - set(COLUMNS))
        if unknown:
            raise ValueError(f"spacy-ssvm.Corpus.v1: columns names {unknown}; it can name {sorted(COLUMNS)}")
        self.corpus = corpus
        self.columns = tuple(columns)
        self.keep = keep
        self._kept: list[Example] | None = None
        self._vocab: Vocab | None = None

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples; a token that is not aligned with a single reference token gets no value."""
        if self._kept is not None and self._vocab is nlp.vocab:
            yield from (Example(example.predicted.copy(), example.reference) for example in self._kept)
            return
        kept: list[Example] | None = [] if self.keep else None
        n_tokens = 0
        for example in self.corpus(nlp):
            for name in self.columns:
                values = example.get_aligned(COLUMNS[name])
                example.predicted.from_array(
                    [COLUMNS[name]], cast(Any, np.array([value or 0 for value in values], np.uint64))
                )
            n_tokens += len(example.reference)
            if n_tokens > MOST_KEPT:
                kept = None
            if kept is not None:
                kept.append(Example(example.predicted.copy(), example.reference))
            yield example
        self._kept, self._vocab = kept, nlp.vocab


def create_corpus(
    path: Path | None,
    columns: list[str] | None = None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterable[Example]] | None = None,
) -> ColumnCorpus:
    """The registered reader. All arguments but `columns` are those of "spacy.Corpus.v1".

    Raises:
        ValueError: no path is given, or a column has an unknown name.
    """
    if path is None:
        raise ValueError(
            "spacy-ssvm.Corpus.v1 has no path: set [paths] in the config, or --paths.train and --paths.dev"
        )
    corpus: Any = Corpus(path, gold_preproc=gold_preproc, max_length=max_length, limit=limit, augmenter=augmenter)
    return ColumnCorpus(corpus, columns or [], keep=augmenter is None)
