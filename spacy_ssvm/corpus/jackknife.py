"""Jackknifing: tags predicted by a tagger that has learnt from other documents only."""

import logging
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from time import perf_counter

import numpy as np
from spacy.tokens import Doc

from ..features.extractor import Extractor
from ..features.sets import tagger_features
from ..models.chain.encoded import MIN_PIECE
from ..training.jackknife import Features, Labelling, annotated_documents, frequent_features

LOGGER = logging.getLogger("spacy")

MAX_REMEMBERED = 4
"""The max number of results kept for readers of the same corpus; `spacy train` makes two."""

_remembered: dict[bytes, np.ndarray] = {}
"""Results by a digest of their input."""


class Jackknife:
    """A corpus whose tags are to be predicted.

    Args:
        docs: Docs with tokens, of one vocabulary, in the order of the corpus.
        folds: the max number of taggers for each kind of tag; each predicts the documents of one fold.
        seed: the seed of the order in which they visit examples.
        n_threads: the number of taggers that learn at a time.
    """

    def __init__(self, docs: Sequence[Doc], folds: int, seed: int, n_threads: int = 1) -> None:
        self.folds = folds
        self.seed = seed
        self.n_threads = n_threads
        self._extractor = Extractor([str(template) for template in tagger_features().templates], {}, {})
        self._columns = self._extractor.reader.read(docs, docs[0].vocab)
        self._starts = self._columns.starts

    def predict(self, gold: np.ndarray, name: str) -> np.ndarray:
        """Predicted tags, uint64 [T], read-only, for tokens with these gold tags, uint64 [T], 0 where unknown.

        Args:
            name: the name of the tags, for messages. A repeated call is answered from memory.

        Raises:
            ValueError: fewer than two documents have a gold tag.
        """
        key = self._digest(gold)
        if key not in _remembered:
            while len(_remembered) >= MAX_REMEMBERED:
                del _remembered[next(iter(_remembered))]
            _remembered[key] = self._predict(gold, name)
        return _remembered[key]

    def _predict(self, gold: np.ndarray, name: str) -> np.ndarray:
        began = perf_counter()
        known = gold != 0
        n_folds = min(self.folds, self._n_annotated(known, name))
        tags, labels = np.unique(gold[known], return_inverse=True)
        numbers = np.full(len(gold), -1, np.int32)
        numbers[known] = labels
        features = self._features.for_labels(len(tags))
        labelling = Labelling(features, self._starts, numbers, len(tags), self.seed, 2 * MIN_PIECE)
        predicted: np.ndarray = tags[labelling.jackknifed(self.folds, self.n_threads)]
        accuracy, seconds = 100 * (predicted == gold)[known].mean(), perf_counter() - began
        LOGGER.info("Jackknifed %s: %d folds, accuracy %.2f, %.1f s", name, n_folds, accuracy, seconds)
        predicted.flags.writeable = False
        return predicted

    def _n_annotated(self, known: np.ndarray, name: str) -> int:
        """The number of documents with gold tags, two or more."""
        annotated = annotated_documents(self._starts, known)
        n_annotated = int(annotated.sum())
        if n_annotated < 2:
            remedy = (
                "jackknife takes two, to learn from one and predict the other. Set gold_preproc = true, so that each "
                "sentence is an example, or remove the column from jackknife"
                if n_annotated
                else "remove the column from jackknife, and the attribute from the features"
            )
            raise ValueError(
                f"cannot jackknife {name}: {n_annotated or 'none'} of its {len(annotated):,} examples has gold "
                f"values; {remedy}"
            )
        return n_annotated

    @cached_property
    def _features(self) -> Features:
        return frequent_features(self._columns, self._extractor.program)

    def _digest(self, gold: np.ndarray) -> bytes:
        digest = blake2b(f"{self.folds} {self.seed}".encode(), digest_size=16)
        for array in (self._starts, self._columns.keys, gold):
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()
