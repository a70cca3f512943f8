"""Jackknifing: tags predicted by a tagger that has learnt from other documents only."""

import logging
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from time import perf_counter
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..features.extractor import Extractor
from ..features.index import add_features, empty_table
from ..features.sets import tagger_features
from ..models.chain.data import Chains, make_chains
from ..models.chain.oracles import chain_problem
from ..models.chain.scores import decode_sequences
from ..solvers.learner import run_epoch, start
from ..solvers.parameters import Perceptron
from ..structures.chain.constraints import unconstrained

LOGGER = logging.getLogger("spacy")

EPOCHS = 5
"""Epochs of the averaged perceptron, the fastest solver here: after as many, others are at most 0.2 points better."""

BLOCKS = 5
"""Contiguous blocks of documents in each fold.

Neighbouring documents often belong to one text, whose names and topics the tagger must not have seen. On EWT, where
each document is a sentence, folds of scattered sentences raise XPOS accuracy by a point compared with folds of whole
texts. A fold of one block errs the other way: it can be a whole genre, unlike test data. Five blocks are within 0.2
points of folds of whole texts.
"""

MIN_COUNT = 2
"""Features that occur less often are left out: a feature that occurs once is in training or held-out documents only."""

MAX_WEIGHTS = 1 << 26
"""The number of weights above which feature rows share weights, so that memory stays bounded."""

MAX_REMEMBERED = 4
"""Results that are kept for readers of the same corpus, of which `spacy train` makes two."""

_remembered: dict[bytes, np.ndarray] = {}
"""Results by a digest of their input."""


class Features(NamedTuple):
    """The features of T tokens.

    starts: int64 [T + 1], the first feature of each token. rows: int32 [F], below n_rows. values: float32 [F].
    """

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    n_rows: int


class Jackknife:
    """A corpus whose tags are to be predicted.

    docs: Docs with tokens, of one vocabulary, in the order of the corpus. folds: the most taggers that are trained for
    each kind of tag; each predicts the documents of one fold. seed: the seed of the order in which they visit examples.
    """

    def __init__(self, docs: Sequence[Doc], folds: int, seed: int) -> None:
        self.folds = folds
        self.seed = seed
        self._extractor = Extractor([str(template) for template in tagger_features().templates], {}, {})
        self._columns = self._extractor.reader.read(docs, docs[0].vocab)
        self._starts = self._columns.starts

    def predict(self, gold: np.ndarray, name: str) -> np.ndarray:
        """Predicted tags, uint64 [T], read-only, for tokens with these gold tags, uint64 [T], 0 where unknown.

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
        blocks = self._blocks(known, name)
        n_folds = min(self.folds, len(blocks) - 1)
        fold_of = np.repeat(np.arange(len(blocks) - 1) % n_folds, np.diff(blocks))
        tags, labels = np.unique(gold[known], return_inverse=True)
        numbers = np.zeros(len(gold), np.int32)
        numbers[known] = labels
        features = self._shared(len(tags))
        runs, document = _runs(self._starts, known)
        constraints = unconstrained(len(tags))
        chains = make_chains(runs, features.starts, features.rows, numbers, constraints, features.values)
        annotated = known[runs[:-1]]
        problem = chain_problem(chains, features.n_rows)
        predicted = np.empty_like(gold)
        rng = np.random.default_rng(self.seed)
        for fold in range(n_folds):
            learner = start(Perceptron(), problem)
            others = np.flatnonzero(annotated & (fold_of[document] != fold))
            for _ in range(EPOCHS):
                run_epoch(learner, rng, rng.permutation(others))
            weights = learner.prediction_weights()
            for first, end in zip(blocks[fold:-1:n_folds], blocks[fold + 1 :: n_folds]):
                held_out = _part(chains, self._starts[first : end + 1])
                predicted[self._starts[first] : self._starts[end]] = tags[decode_sequences(held_out, weights)]
        accuracy = 100 * (predicted == gold)[known].mean()
        LOGGER.info("Jackknifed %s: %d folds, accuracy %.2f, %.1f s", name, n_folds, accuracy, perf_counter() - began)
        predicted.flags.writeable = False
        return predicted

    def _blocks(self, known: np.ndarray, name: str) -> np.ndarray:
        """The first document of each block, and the end, int64; blocks have equally many annotated documents, ± 1."""
        annotated = np.add.reduceat(known, self._starts[:-1], dtype=np.int64) > 0
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
        n_blocks = min(n_annotated, self.folds * BLOCKS)
        block = np.maximum(np.cumsum(annotated) - 1, 0) * n_blocks // n_annotated
        return np.append(np.searchsorted(block, np.arange(n_blocks)), len(block))

    @cached_property
    def _features(self) -> Features:
        """The features that occur at least MIN_COUNT times, with consecutive rows."""
        _, starts, rows, values = add_features(self._columns, self._extractor.program, empty_table())
        frequent = np.bincount(rows) >= MIN_COUNT
        kept = frequent[rows]
        numbers = np.cumsum(frequent, dtype=np.int32) - 1
        return Features(
            np.concatenate([[0], np.cumsum(kept)])[starts], numbers[rows[kept]], values[kept], int(frequent.sum())
        )

    def _shared(self, n_labels: int) -> Features:
        """The features, with rows shared if there were more than MAX_WEIGHTS weights."""
        features = self._features
        max_rows = max(1, MAX_WEIGHTS // n_labels)
        if features.n_rows <= max_rows:
            return features
        return features._replace(rows=features.rows % max_rows, n_rows=max_rows)

    def _digest(self, gold: np.ndarray) -> bytes:
        digest = blake2b(f"{self.folds} {self.seed}".encode(), digest_size=16)
        for array in (self._starts, self._columns.keys, gold):
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()


def _runs(starts: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The longest runs of tokens within documents that are all annotated, or all without annotation.

    Taggers learn from annotated runs alone: completing other tokens would need tags from other folds.

    Returns the start of each run and the end, int64 [runs + 1], and the document of each run, int64 [runs].
    """
    runs = np.union1d(starts, np.flatnonzero(known[1:] != known[:-1]) + 1)
    return runs, np.searchsorted(starts, runs[:-1], "right") - 1


def _part(chains: Chains, starts: np.ndarray) -> Chains:
    """The tokens from starts[0] to starts[-1] − 1, as sequences that begin at `starts`, int64."""
    first, end = int(starts[0]), int(starts[-1])
    features = chains.feature_starts[first : end + 1]
    return make_chains(
        starts - first,
        features - features[0],
        chains.rows[features[0] : features[-1]],
        chains.gold[first:end],
        chains.constraints,
        chains.values[features[0] : features[-1]] if len(chains.values) else None,
    )
