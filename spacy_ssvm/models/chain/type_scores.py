"""Scores of features that read one word type only: they are summed once per type, for given weights."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

import numpy as np

from ...features.columns import ColumnReader, Types
from ...features.index import Columns, Program, Table, look_up_features
from ...features.program import SplitProgram, rows_outside
from ...structures.chain.constraints import Constraints
from .data import Chains, SharedScores
from .scores import label, score_all_rows, token_scores, unlabelled

MAX_SCORES = 1 << 23
"""Largest number of stored scores of word types, 8 bytes each; beyond it, all are forgotten."""


class TypeScores:
    """The scores of word types by fixed weights, as far as they are known, and what else scoring takes.

    reader: of columns. split: templates over these columns. table: of their features. weights: float32, of `Chains`
    with these constraints.
    """

    def __init__(
        self, reader: ColumnReader, split: SplitProgram, table: Table, weights: np.ndarray, constraints: Constraints
    ) -> None:
        self._reader = reader
        self._split = split
        self._table = table
        self._weights = weights
        self._n_labels = len(constraints.start)
        self._attributes = constraints.attributes
        self._offsets = np.array([group.offset for group in split.groups], np.int64)
        self._lock = Lock()
        self._clear(-1)

    def arguments(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> tuple[Columns, Program, Table, Chains, SharedScores, np.ndarray]:
        """The arguments of `label` and `token_scores`."""
        chains = unlabelled(columns, self._split.rest, kinds, constraints)
        return columns, self._split.rest, self._table, chains, self._shared(types), self._weights

    def labelling(
        self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """A function that returns the best labels of all sequences, int32 [T], in any thread.

        columns: of the sequences; they are read when the function is called. types: of their tokens. kinds: int32 [T],
        rows of `constraints.token`.
        """
        return partial(label, *self.arguments(columns, types, kinds, constraints))

    def scores(self, columns: Columns, types: Types, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """wᵀΦ of every token and label, float64 [T, L], constraints of tokens included."""
        return token_scores(*self.arguments(columns, types, kinds, constraints))

    def forget(self) -> None:
        """Drop all scores."""
        with self._lock:
            self._clear(-1)

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
            score_all_rows(starts, rows, values, self._attributes, self._weights, scores)
            sums[:, g] = scores
        return sums
