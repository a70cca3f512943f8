"""Scores of features that read one word type only: they are summed once per type, for given weights."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from ...features.columns import ColumnReader, Types
from ...features.index import Columns, Program, Table, extract, look_up_features
from ...features.program import SplitProgram, rows_outside
from ...kernels import kernel
from ...structures.chain.constraints import Constraints
from ...structures.chain.viterbi import Steps, steps_of, viterbi
from .data import Chains, SharedScores, nothing_shared
from .fixed_rows import FixedRows, fixed_rows, score_by_rows
from .scores import add_attributes, add_attributes_and_constraints, require_finite_values, unlabelled
from .weights import ChainWeights

MAX_SCORES = 1 << 23
"""Largest number of stored scores of word types, 8 bytes each; beyond it, all are forgotten."""


class FixedWeights(NamedTuple):
    """The weights that decoding reads. rows: of label weights. steps: between labels, with their constraints."""

    rows: FixedRows
    steps: Steps


@kernel
def _add_shared(shared, first, end, scores):
    """Add the `SharedScores` of tokens first … end − 1, a sequence, to scores, float64 [T, L]."""
    for t in range(end - first):
        score = scores[t]
        for g in range(len(shared.offsets)):
            token = first + t + shared.offsets[g]
            entry = shared.entries[token] if first <= token < end else 0
            vector = shared.vectors[entry, g]
            for label in range(len(score)):
                score[label] += vector[label]


@kernel
def _score_sequence(chains, shared, rows, first, end, scores):
    """Write wᵀΦ of tokens first … end − 1, a sequence, plus their constraints, to scores, float64 [T, L]."""
    for token in range(first, end):
        score = scores[token - first]
        score_by_rows(chains.feature_starts, chains.rows, chains.values, token, rows, score)
        add_attributes_and_constraints(chains, token, score)
    _add_shared(shared, first, end, scores)


@kernel
def _score(columns, program, table, chains, shared, weights, scores):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        _score_sequence(chains, shared, weights.rows, first, end, scores[first:end])


@kernel
def _label(columns, program, table, chains, shared, weights, labels):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    constraints = chains.constraints
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        scores = np.empty((end - first, len(constraints.start)))
        _score_sequence(chains, shared, weights.rows, first, end, scores)
        viterbi(scores, weights.steps, constraints.start, constraints.end, np.empty_like(scores), labels[first:end])


@kernel
def _score_types(feature_starts, feature_rows, values, attributes, rows, scores):
    """Write wᵀΦ of the features of each of n types to scores, float64 [n, L]."""
    for token in range(len(scores)):
        score_by_rows(feature_starts, feature_rows, values, token, rows, scores[token])
        add_attributes(attributes, scores[token])


class TypeScores:
    """The scores of word types by fixed weights, as far as they are known, and what else scoring takes.

    reader: of columns. split: templates over these columns. table: of their features. weights: of the chain.
    constraints: the usual ones; others are these with further kinds of tokens.
    """

    def __init__(
        self, reader: ColumnReader, split: SplitProgram, table: Table, weights: ChainWeights, constraints: Constraints
    ) -> None:
        self._reader = reader
        self._split = split
        self._table = table
        self._n_labels = len(constraints.start)
        steps = steps_of(weights.transitions + constraints.transition)
        self._weights = FixedWeights(fixed_rows(weights.rows, self._n_labels), steps)
        self._attributes = constraints.attributes
        self._offsets = np.array([group.offset for group in split.groups], np.int64)
        self._lock = Lock()
        self._clear(-1)

    def labelling(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """A function that returns the best labels of all sequences, int32 [T], in any thread.

        columns: of the sequences; they are read when the function is called. types: of their tokens. kinds: int32 [T],
        rows of `constraints.token`.
        """
        chains = unlabelled(columns, self._split.rest, kinds, constraints)
        return partial(self._labels, columns, self._split.rest, chains, self._shared(types))

    def labels_without_types(self, columns: Columns, program: Program, constraints: Constraints) -> np.ndarray:
        """The labels that `labelling` gives, without stored scores, by all templates, `program`."""
        kinds = np.zeros(columns.keys.shape[1], np.int32)
        chains = unlabelled(columns, program, kinds, constraints)
        return self._labels(columns, program, chains, nothing_shared(self._n_labels))

    def scores(self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """wᵀΦ of every token and label, float64 [T, L], constraints of tokens included."""
        program, scores = self._split.rest, np.zeros((len(kinds), self._n_labels))
        chains = unlabelled(columns, program, kinds, constraints)
        _score(columns, program, self._table, chains, self._shared(types), self._weights, scores)
        require_finite_values(program, chains)
        return scores

    def forget(self) -> None:
        """Drop all scores."""
        with self._lock:
            self._clear(-1)

    def _labels(self, columns: Columns, program: Program, chains: Chains, shared: SharedScores) -> np.ndarray:
        """argmax_y wᵀΦ(x_i, y) of every sequence, int32 [T], with the features that are in the index.

        chains: as `unlabelled` makes them, for this call only. Holds Python's lock for next to nothing.

        Raises:
            ValueError: a feature value is not finite.
        """
        labels = np.zeros(len(chains.kinds), np.int32)
        _label(columns, program, self._table, chains, shared, self._weights, labels)
        require_finite_values(program, chains)
        return labels

    def _clear(self, generation: int) -> None:
        """Drop all scores; from now on, store those of types of this generation."""
        self._generation = generation
        self._entries = np.zeros(0, np.int64)
        self._known = 0
        self._vectors = self._outside()

    def _shared(self, types: Types) -> SharedScores:
        """The scores of the tokens' types; those of new types are summed and stored."""
        with self._lock:
            if types.generation != self._generation:
                self._clear(types.generation)
            missing = types.keys.shape[1] - len(self._entries)
            if missing > 0:
                self._entries = np.append(self._entries, np.zeros(missing, np.int64))
            entries = self._entries[types.ids]
            if not entries.all():
                self._add(types, np.unique(types.ids[entries == 0]))
                entries = self._entries[types.ids]
            vectors = self._vectors
        if vectors.size > MAX_SCORES:
            self._reader.forget_types()
        return SharedScores(entries, self._offsets, vectors)

    def _add(self, types: Types, new: np.ndarray) -> None:
        """Append the summed scores of new types, int64, to those that are stored."""
        known, needed = self._known + 1, self._known + 1 + len(new)
        if needed > len(self._vectors):
            larger = np.zeros((2 * needed, *self._vectors.shape[1:]))
            larger[:known] = self._vectors[:known]
            self._vectors = larger
        columns = self._reader.columns_of_types(types, new)
        features = [look_up_features(columns, group.program, self._table) for group in self._split.groups]
        self._vectors[known:needed] = self._sums(features, len(new))
        self._entries[new] = np.arange(known, needed)
        self._known = needed - 1

    def _outside(self) -> np.ndarray:
        """Entry 0, for positions outside the sequence, float64 [1, G, L]."""
        n_columns = len(self._reader.attributes)
        return self._sums([rows_outside(group, n_columns, self._table) for group in self._split.groups], 1)

    def _sums(self, features: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], n_types: int) -> np.ndarray:
        """The scores of types, float64 [n_types, G, L], from each group's (starts, rows, values) of their features."""
        sums = np.zeros((n_types, len(features), self._n_labels))
        for g, (starts, rows, values) in enumerate(features):
            scores = np.zeros((n_types, self._n_labels))
            _score_types(starts, rows, values, self._attributes, self._weights.rows, scores)
            sums[:, g] = scores
        return sums
