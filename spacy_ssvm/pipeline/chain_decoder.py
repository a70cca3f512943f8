"""Labels for Docs, by weights that stay: what a word type scores by itself is summed once."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock

import numpy as np

from ..features.extractor import Extractor
from ..features.hashing import Columns, Table
from ..features.index import look_up_features
from ..features.type_templates import rows_outside
from ..features.word_types import Types
from ..structures.chain.data import Constraints, SharedScores
from ..structures.chain.labelling import label, unlabelled
from ..structures.chain.viterbi import add_all_rows

MOST_SCORES = 1 << 23
"""Scores of word types that are kept, 8 bytes each; beyond that they are forgotten."""


class ChainDecoder:
    """Decodes with these weights, float32 [d], and this feature index."""

    def __init__(self, extractor: Extractor, table: Table, weights: np.ndarray, constraints: Constraints) -> None:
        self.extractor = extractor
        self._table = table
        self._weights = weights
        self._constraints = constraints
        self._groups = extractor.split.groups
        self._offsets = np.array([group.offset for group in self._groups], np.int64)
        self._lock = Lock()
        self._generation = -1
        self._known = 0
        self._vectors = self._outside()

    def prepared(self, columns: Columns, types: Types, kinds: np.ndarray) -> Callable[[], list[np.ndarray]]:
        """What gives the best labels of each sequence, int32 [tokens], once, in any thread.

        columns, types: as `extractor.reader` has read them. kinds: int32 [T], rows of the token constraints.
        """
        rest, shared = self.extractor.split.rest, self._shared(types)
        chains = unlabelled(columns, rest, kinds, self._constraints)
        bounds = list(pairwise(columns.starts.tolist()))

        def labels() -> list[np.ndarray]:
            found = label(columns, rest, self._table, chains, shared, self._weights)
            return [found[first:behind] for first, behind in bounds]

        return labels

    def _shared(self, types: Types) -> SharedScores:
        """The scores of these tokens' types; those of types that are new are summed and kept."""
        with self._lock:
            if types.generation != self._generation:
                self._known, self._vectors, self._generation = 0, self._outside(), types.generation
            if types.keys.shape[1] > self._known:
                self._add(types)
            vectors = self._vectors
        if vectors.size > MOST_SCORES:
            self.extractor.reader.forget_types()
        return SharedScores(types.ids + 1, self._offsets, vectors)

    def _add(self, types: Types) -> None:
        needed = types.keys.shape[1] + 1
        if needed > len(self._vectors):
            larger = np.zeros((2 * needed, *self._vectors.shape[1:]))
            larger[: self._known + 1] = self._vectors[: self._known + 1]
            self._vectors = larger
        new = self.extractor.reader.columns_of_types(types, self._known)
        features = [look_up_features(new, group.program, self._table) for group in self._groups]
        self._vectors[self._known + 1 : needed] = self._sums(features, needed - 1 - self._known)
        self._known = types.keys.shape[1]

    def _outside(self) -> np.ndarray:
        """The one entry that is there before all types, float64 [1, G, L]."""
        n_columns = len(self.extractor.reader.attributes)
        return self._sums([rows_outside(group, n_columns, self._table) for group in self._groups], 1)

    def _sums(self, features: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], n_types: int) -> np.ndarray:
        """Scores float64 [n_types, G, L] of what each group's features of these types are."""
        n_labels = len(self._constraints.start)
        sums = np.zeros((n_types, len(features), n_labels))
        for g, (starts, rows, values) in enumerate(features):
            scores = np.zeros((n_types, n_labels))
            add_all_rows(starts, rows, values, self._weights, scores)
            sums[:, g] = scores
        return sums
