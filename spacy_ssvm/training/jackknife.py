"""Jackknifing: labels predicted by chains that have learnt from other documents only.

The chains are averaged perceptrons without constraints, the fastest learner here: after EPOCHS epochs, others are at
most 0.2 points better.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..features.index import Columns, Program, add_features, empty_table, row_keys
from ..growth import ranges_of
from ..models.chain.by_use import WeightsByUse
from ..models.chain.data import Chains, make_chains
from ..models.chain.decoders import has_many_labels
from ..models.chain.oracles import chain_problem, extent
from ..models.chain.scores import decode_sequences
from ..solvers.learner import run_epoch, start
from ..solvers.perceptron import Perceptron
from ..solvers.problem import Problem
from ..structures.chain.constraints import unconstrained
from ..threads import in_threads

EPOCHS = 5
"""Epochs of the averaged perceptron."""

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
"""The number of weights above which the least frequent features are left out, so that memory stays bounded."""


class Features(NamedTuple):
    """The features of T tokens.

    Attributes:
        starts: int64 [T + 1], the first feature of each token.
        rows: int32 [F], below R.
        values: float32 [F].
        keys: uint64 [R], the key of each row.
    """

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    keys: np.ndarray

    def for_labels(self, n_labels: int) -> "Features":
        """The most frequent features, with at most MAX_WEIGHTS weights."""
        n_rows = max(1, MAX_WEIGHTS // n_labels)
        if len(self.keys) <= n_rows:
            return self
        chosen = np.zeros(len(self.keys), np.bool_)
        chosen[np.argsort(-self.counts(), kind="stable")[:n_rows]] = True
        return self.only(chosen)

    def counts(self) -> np.ndarray:
        """How often each row occurs, int64 [R]."""
        return np.bincount(self.rows, minlength=len(self.keys))

    def only(self, chosen: np.ndarray) -> "Features":
        """The features of the chosen rows, bool [R], which get consecutive numbers."""
        kept = chosen[self.rows]
        numbers = np.cumsum(chosen, dtype=np.int32) - 1
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Features(starts, numbers[self.rows[kept]], self.values[kept], self.keys[chosen])


def frequent_features(columns: Columns, program: Program) -> Features:
    """The features that occur at least MIN_COUNT times."""
    table, starts, rows, values = add_features(columns, program, empty_table())
    features = Features(starts, rows, values, row_keys(table))
    return features.only(features.counts() >= MIN_COUNT)


def blocks(starts: np.ndarray, known: np.ndarray, folds: int) -> np.ndarray:
    """The first document of each block, and the end, int64; blocks differ by at most one annotated document.

    Args:
        starts: int64 [n + 1], the first token of each document, and T.
        known: bool [T], the annotated tokens; at least two documents have one.
    """
    annotated = annotated_documents(starts, known)
    n_annotated = int(annotated.sum())
    n_blocks = min(n_annotated, folds * BLOCKS)
    block = np.maximum(np.cumsum(annotated) - 1, 0) * n_blocks // n_annotated
    return np.append(np.searchsorted(block, np.arange(n_blocks)), len(block))


def annotated_documents(starts: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each document has a token that is `known`, bool [n]."""
    annotated = np.zeros(len(starts) - 1, np.bool_)
    annotated[ranges_of(starts, np.flatnonzero(known))] = True
    return annotated


class Labelling:
    """Documents whose labels are to be predicted.

    Args:
        features: of T tokens.
        starts: int64 [n + 1], the first token of each document.
        labels: int32 [T], -1 where unknown.
        n_labels: their number.
        seed: of the order in which perceptrons visit examples.
        longest: the largest number of tokens that are an example: a perceptron learns once from an example, however
            long it is.
    """

    def __init__(
        self, features: Features, starts: np.ndarray, labels: np.ndarray, n_labels: int, seed: int, longest: int
    ) -> None:
        known = labels >= 0
        self._starts = starts
        self._known = known
        runs, self._document = _runs(starts, known, longest)
        gold, constraints = np.maximum(labels, 0), unconstrained(n_labels)
        self._chains = make_chains(runs, features.starts, features.rows, gold, constraints, features.values)
        self._n_rows = len(features.keys)
        self._annotated = known[runs[:-1]]
        self._rng = np.random.default_rng(seed)

    def jackknifed(self, folds: int, n_threads: int = 1) -> np.ndarray:
        """The labels of all tokens, int32 [T], predicted by `folds` perceptrons, each for the documents of a fold.

        There are at most as many folds as annotated documents, which are at least two. Each thread learns one fold at a
        time; the labels do not depend on their number.
        """
        first_of_block = blocks(self._starts, self._known, folds)
        n_folds = min(folds, len(first_of_block) - 1)
        fold_of = np.repeat(np.arange(len(first_of_block) - 1) % n_folds, np.diff(first_of_block))
        orders = [self._orders(self._annotated & (fold_of[self._document] != fold)) for fold in range(n_folds)]
        predicted = np.zeros(len(self._known), np.int32)

        def predict(fold: int) -> None:
            decode = self._decoder(orders[fold])
            for first, end in zip(first_of_block[fold:-1:n_folds], first_of_block[fold + 1 :: n_folds]):
                held_out = _part(self._chains, self._starts[first : end + 1])
                predicted[self._starts[first] : self._starts[end]] = decode(held_out)

        in_threads(n_threads, predict, range(n_folds))
        return predicted

    def learnt(self) -> np.ndarray:
        """The weights of a perceptron that has learnt from all documents, float64 [L² + R · L]."""
        return self._learnt(chain_problem(self._chains, self._n_rows), self._orders(self._annotated))

    def _orders(self, chosen: np.ndarray) -> list[np.ndarray]:
        """The order of the chosen examples, bool, in each epoch."""
        examples = np.flatnonzero(chosen)
        return [self._rng.permutation(examples) for _ in range(EPOCHS)]

    def _decoder(self, orders: list[np.ndarray]) -> Callable[[Chains], np.ndarray]:
        """A function that labels sequences, after learning from examples in these orders."""
        if not has_many_labels(self._chains.constraints):
            return partial(decode_sequences, weights=self._learnt(chain_problem(self._chains, self._n_rows), orders))
        counts = np.bincount(self._chains.rows, minlength=self._n_rows)
        used = WeightsByUse.new(counts, self._chains.constraints, of_tokens=False)
        weights = self._learnt(used.problem(self._chains, self._n_rows, extent(self._chains)), orders)
        return lambda chains: decode_sequences(chains._replace(numbering=used.numbering, decoder=used.decoder), weights)

    def _learnt(self, problem: Problem, orders: list[np.ndarray]) -> np.ndarray:
        """The weights after an epoch in each of these orders."""
        learner = start(Perceptron(), problem)
        for order in orders:
            run_epoch(learner, self._rng, order)
        return learner.prediction_weights()


def _runs(starts: np.ndarray, known: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """The longest runs of tokens within documents that are all annotated, or all without annotation.

    Chains learn from annotated runs alone: completing other tokens would need labels from other folds.

    Returns the start of each run and the end, int64 [runs + 1], and the document of each run, int64 [runs].
    """
    runs = np.union1d(starts, np.flatnonzero(known[1:] != known[:-1]) + 1)
    places = np.arange(len(known)) - np.repeat(runs[:-1], np.diff(runs))
    runs = np.union1d(runs, np.flatnonzero(places % longest == 0))
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
