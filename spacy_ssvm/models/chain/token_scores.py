"""Scores of chains of one token by fixed weights: tokens that can have one label only are not read.

Where labels are many and features rare, most weights are zero: rows are kept without their zeros.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...features.columns import Types
from ...features.index import Columns, Program, Table, extract_at
from ...kernels import Float32Array, Int32Array, Int64Array, kernel
from ...structures.chain.constraints import Constraints, only_labels
from .data import Chains, value_of
from .scores import add_limits, require_finite_values
from .weights import split


class SparseRows(NamedTuple):
    """The weights of R feature rows that are not zero.

    starts: int64 [R + 1], the first one of each row. labels: int32, their labels. weights: float32.
    """

    starts: Int64Array
    labels: Int32Array
    weights: Float32Array


def sparse_rows(vector: np.ndarray, n_labels: int) -> SparseRows:
    """The rows of a vector of `Chains`, float32."""
    rows = split(vector, n_labels)[1]
    row, label = np.nonzero(rows)
    return SparseRows(np.searchsorted(row, np.arange(len(rows) + 1)), label.astype(np.int32), rows[row, label])


@kernel
def _add_scores(chains, sparse, token, score):
    """Write wᵀΦ of a token and each label, plus its constraints, to score, float64 [L]."""
    score[:] = 0.0
    for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
        value = value_of(chains.values, f)
        for k in range(sparse.starts[chains.rows[f]], sparse.starts[chains.rows[f] + 1]):
            score[sparse.labels[k]] += value * sparse.weights[k]
    add_limits(chains, token, score)


@kernel
def _score(columns, program, table, tokens, chains, sparse, scores):
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    for token in range(len(tokens)):
        _add_scores(chains, sparse, token, scores[token])


@kernel
def _label(columns, program, table, tokens, chains, sparse, labels):
    """Write the best label of tokens, the lowest of equal ones, to labels, int32 [T]; others stay."""
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    score = np.empty(len(chains.constraints.start))
    for token in range(len(tokens)):
        _add_scores(chains, sparse, token, score)
        labels[tokens[token]] = np.argmax(score)


class TokenScores:
    """Labels and scores tokens, as `TypeScores`, where each is a chain of its own.

    program: templates. table: of their features. vector: float32, weights of `Chains`. constraints: the usual ones; for
    others, what follows from them is computed anew.
    """

    def __init__(self, program: Program, table: Table, vector: np.ndarray, constraints: Constraints) -> None:
        self._program = program
        self._table = table
        self._sparse = sparse_rows(vector, len(constraints.start))
        self._constraints = constraints
        self._only = only_labels(constraints)

    def labelling(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """As `TypeScores.labelling`."""
        return partial(self._labels, columns, kinds, constraints)

    def scores(self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """As `TypeScores.scores`."""
        tokens = np.arange(len(kinds))
        chains = self._chains(tokens, kinds, constraints)
        scores = np.zeros((len(kinds), len(constraints.start)))
        _score(columns, self._program, self._table, tokens, chains, self._sparse, scores)
        require_finite_values(self._program, chains)
        return scores

    def forget(self) -> None:
        """Nothing is stored."""

    def _labels(self, columns: Columns, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        labels = (self._only if constraints is self._constraints else only_labels(constraints))[kinds]
        tokens = np.flatnonzero(labels < 0)
        chains = self._chains(tokens, kinds, constraints)
        _label(columns, self._program, self._table, tokens, chains, self._sparse, labels)
        require_finite_values(self._program, chains)
        return labels

    def _chains(self, tokens: np.ndarray, kinds: np.ndarray, constraints: Constraints) -> Chains:
        """The chains of these tokens, int64, with room for their features."""
        max_features = len(tokens) * len(self._program.seeds)
        return Chains(
            np.arange(len(tokens) + 1),
            np.zeros(len(tokens) + 1, np.int64),
            np.empty(max_features, np.int32),
            np.empty(max_features, np.float32),
            np.empty(0, np.int32),
            np.empty(0),
            kinds[tokens],
            constraints,
        )
