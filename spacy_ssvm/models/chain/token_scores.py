"""Scores of chains of one token by fixed weights: tokens that can have one label only are not read."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ...features.columns import Types
from ...features.index import Columns, Program, Table, extract_at
from ...kernels import kernel
from ...structures.chain.constraints import Constraints, only_labels
from .data import Chains
from .fixed_rows import fixed_rows, score_by_rows
from .scores import add_attributes_and_constraints, require_finite_values
from .sparse_rows import SparseRows


@kernel
def _score(columns, program, table, tokens, chains, rows, scores):
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    for token in range(len(tokens)):
        score_by_rows(chains.feature_starts, chains.rows, chains.values, token, rows, scores[token])
        add_attributes_and_constraints(chains, token, scores[token])


@kernel
def _label(columns, program, table, tokens, chains, rows, labels):
    """Write the best label of tokens, the lowest of equal ones, to labels, int32 [T]; others stay."""
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    score = np.empty(len(chains.constraints.start))
    for token in range(len(tokens)):
        score_by_rows(chains.feature_starts, chains.rows, chains.values, token, rows, score)
        add_attributes_and_constraints(chains, token, score)
        labels[tokens[token]] = np.argmax(score)


class TokenScores:
    """Labels and scores tokens, as `TypeScores`, where each is a chain of its own.

    program: templates. table: of their features. rows: of label weights. constraints: the usual ones; for others, what
    follows from them is computed anew.
    """

    def __init__(self, program: Program, table: Table, rows: SparseRows, constraints: Constraints) -> None:
        self._program = program
        self._table = table
        self._rows = fixed_rows(rows, len(constraints.start))
        self._constraints = constraints
        self._only = only_labels(constraints)

    def labelling(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """A function that finds labels, as `TypeScores.labelling`."""
        return partial(self._labels, columns, kinds, constraints)

    def scores(self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """The scores of tokens, as `TypeScores.scores`."""
        tokens = np.arange(len(kinds))
        chains = self._chains(tokens, kinds, constraints)
        scores = np.zeros((len(kinds), len(constraints.start)))
        _score(columns, self._program, self._table, tokens, chains, self._rows, scores)
        require_finite_values(self._program, chains)
        return scores

    def forget(self) -> None:
        """Nothing is stored."""

    def _labels(self, columns: Columns, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        labels = (self._only if constraints is self._constraints else only_labels(constraints))[kinds]
        tokens = np.flatnonzero(labels < 0)
        chains = self._chains(tokens, kinds, constraints)
        _label(columns, self._program, self._table, tokens, chains, self._rows, labels)
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
