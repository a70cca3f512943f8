"""Scores and labels of chains with many labels by fixed weights: labels that cannot win are left out of decoding."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...features.columns import Types
from ...features.index import Columns, Program, Table, extract
from ...kernels import Float64Array2d, kernel
from ...structures.chain.constraints import Constraints, allowed_labels
from ...structures.chain.pruning import Bounds, bounds_of, prune_labels, viterbi_pruned
from .fixed_rows import FixedRows, fixed_rows, score_by_rows
from .scores import (
    add_attributes_and_constraints,
    add_attributes_of_allowed,
    longest,
    require_finite_values,
    unlabelled,
)
from .weights import ChainWeights


class ManyLabelWeights(NamedTuple):
    """The weights that decoding reads. rows: of label weights. transitions: float64 [L, L]. bounds: of these."""

    rows: FixedRows
    transitions: Float64Array2d
    bounds: Bounds


@kernel
def _score(columns, program, table, chains, weights, scores):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    for token in range(len(scores)):
        score_by_rows(chains.feature_starts, chains.rows, chains.values, token, weights.rows, scores[token])
        add_attributes_and_constraints(chains, token, scores[token])


@kernel
def _label(columns, program, table, chains, allowed, weights, labels):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    constraints = chains.constraints
    # Once, as that of a document is much, and would be new memory each time.
    memory = np.empty((longest(chains), len(constraints.start)))
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        scores = memory[: end - first]
        for token in range(first, end):
            score = scores[token - first]
            score_by_rows(chains.feature_starts, chains.rows, chains.values, token, weights.rows, score)
            add_attributes_of_allowed(constraints.attributes, allowed, chains.kinds[token], score)
        kinds = chains.kinds[first:end]
        left = prune_labels(scores, kinds, allowed, constraints.start, constraints.end, weights.bounds)
        n_left = len(left.labels)
        transitions = np.empty((n_left, n_left))
        for i in range(n_left):
            steps = weights.transitions[left.labels[i]]
            for j in range(n_left):
                transitions[i, j] = steps[left.labels[j]]
        viterbi_pruned(left, transitions, constraints.start, constraints.end, labels[first:end])


class ManyLabelScores:
    """Labels and scores tokens, as `TypeScores`, where labels are many.

    program: templates. table: of their features. weights: of the chain. constraints: the usual ones; others are these
    with further kinds of tokens.
    """

    def __init__(self, program: Program, table: Table, weights: ChainWeights, constraints: Constraints) -> None:
        self._program = program
        self._table = table
        transitions = weights.transitions.astype(np.float64)
        rows = fixed_rows(weights.rows, len(transitions))
        self._allowed = allowed_labels(constraints)
        self._weights = ManyLabelWeights(rows, transitions, bounds_of(transitions))

    def labelling(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """A function that finds labels, as `TypeScores.labelling`. Holds Python's lock for next to nothing."""
        return partial(self._labels, columns, kinds, constraints)

    def scores(self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """The scores of tokens, as `TypeScores.scores`."""
        scores = np.zeros((len(kinds), len(constraints.start)))
        chains = unlabelled(columns, self._program, kinds, constraints)
        _score(columns, self._program, self._table, chains, self._weights, scores)
        require_finite_values(self._program, chains)
        return scores

    def forget(self) -> None:
        """Nothing is stored."""

    def _labels(self, columns: Columns, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        labels, chains = np.zeros(len(kinds), np.int32), unlabelled(columns, self._program, kinds, constraints)
        allowed = allowed_labels(constraints, self._allowed)
        _label(columns, self._program, self._table, chains, allowed, self._weights, labels)
        require_finite_values(self._program, chains)
        return labels
