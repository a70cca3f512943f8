"""Sums of the scores of features that read one word type only: each is found once, for fixed weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...features.columns import ColumnReader
from ...features.index import Table, look_up_features
from ...features.program import Group, rows_outside
from ...features.word_types import Generation, Types
from ...growth import extended
from ...kernels import kernel
from ...structures.chain.constraints import Constraints
from .layouts import score_fixed
from .rows import FixedRows
from .scores import add_attributes

MAX_SCORES = 1 << 23
"""Largest number of stored scores of word types, 8 bytes each; beyond it, all are forgotten."""


class SharedScores(NamedTuple):
    """Scores that depend on word types only: each token adds those of its own type and of its neighbours' types.

    Token t adds vectors[entries[t + offsets[g]], g] for each of G offsets; entry 0 is for positions outside the
    sequence.

    Attributes:
        entries: int64 [T], the entry of each token's type, from 1.
        offsets: int64 [G].
        vectors: float64 [V, G, L].
    """

    entries: np.ndarray
    offsets: np.ndarray
    vectors: np.ndarray


NOTHING_SHARED = SharedScores(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0, 0)))
"""The scores of tokens all come from features of their own."""


@kernel
def add_shared(shared, first, end, scores):
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
def _score_types(feature_starts, rows, values, attributes, weights, scores):
    """Write wᵀΦ of the features of each of n types to scores, float64 [n, L]."""
    score_fixed(feature_starts, rows, values, 0, len(scores), weights, scores)
    for score in scores:
        add_attributes(attributes, score)


@dataclass
class _StoredSums:
    """The vectors of `SharedScores`, with room for more; entries: int64, of each type, or 0; known: the last entry."""

    vectors: np.ndarray
    entries: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    known: int = 0


class TypeSums:
    """The summed scores of word types by fixed weights, as far as they are known.

    They are stored for as long as the reader knows the types.

    Args:
        reader: of columns.
        groups: templates over these columns.
        table: of their features.
        weights: of its rows.
        constraints: of the labels.
    """

    def __init__(
        self,
        reader: ColumnReader,
        groups: Sequence[Group],
        table: Table,
        weights: FixedRows,
        constraints: Constraints,
    ) -> None:
        self._reader = reader
        self._groups = groups
        self._table = table
        self._weights = weights
        self._attributes = constraints.attributes
        self._n_labels = len(constraints.start)
        self._offsets = np.array([group.offset for group in groups], np.int64)
        self._lock = Lock()
        self._stored: WeakKeyDictionary[Generation, _StoredSums] = WeakKeyDictionary()

    def of(self, types: Types) -> SharedScores:
        """The scores of the tokens' types; those of new types are summed and stored."""
        with self._lock:
            stored = self._stored.get(types.generation)
            if stored is None:
                stored = self._stored[types.generation] = _StoredSums(self._outside())
            if types.keys.shape[1] > len(stored.entries):
                stored.entries = extended(stored.entries, types.keys.shape[1])
            entries = stored.entries[types.ids]
            if not entries.all():
                self._add(stored, types, np.unique(types.ids[entries == 0]))
                entries = stored.entries[types.ids]
            if stored.vectors.size > MAX_SCORES:
                del self._stored[types.generation]
        return SharedScores(entries, self._offsets, stored.vectors)

    def _add(self, stored: _StoredSums, types: Types, new: np.ndarray) -> None:
        """Append the summed scores of new types, int64, to those that are stored."""
        known, needed = stored.known + 1, stored.known + 1 + len(new)
        if needed > len(stored.vectors):
            larger = np.zeros((2 * needed, *stored.vectors.shape[1:]))
            larger[:known] = stored.vectors[:known]
            stored.vectors = larger
        columns = self._reader.columns_of_types(types, new)
        features = [look_up_features(columns, group.program, self._table) for group in self._groups]
        stored.vectors[known:needed] = self._sums(features, len(new))
        stored.entries[new] = np.arange(known, needed)
        stored.known = needed - 1

    def _outside(self) -> np.ndarray:
        """Entry 0, for positions outside the sequence, float64 [1, G, L]."""
        n_columns = len(self._reader.attributes)
        return self._sums([rows_outside(group, n_columns, self._table) for group in self._groups], 1)

    def _sums(self, features: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], n_types: int) -> np.ndarray:
        """The scores of types, float64 [n_types, G, L], from each group's (starts, rows, values) of their features."""
        sums = np.zeros((n_types, len(features), self._n_labels))
        for g, (starts, rows, values) in enumerate(features):
            scores = np.zeros((n_types, self._n_labels))
            _score_types(starts, rows, values, self._attributes, self._weights, scores)
            sums[:, g] = scores
        return sums
