"""Sums of the scores of features that read one word type only, computed once for fixed weights."""

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...features.columns import ColumnReader
from ...features.index import Columns, Program, Table, extract
from ...features.templates import Groups
from ...features.word_types import Generation, Types
from ...growth import extended
from ...kernels import kernel
from ...structures.chain.constraints import Constraints
from .layouts import score_fixed
from .rows import FixedRows
from .scores import add_attributes

MAX_SCORES = 1 << 24
"""Largest number of stored scores of word types, 4 bytes each; beyond it, all are forgotten."""


class SharedScores(NamedTuple):
    """Scores that depend on word types only: a token's score has its own type's and its neighbours' types' parts.

    Token t adds vectors[entries[t + offsets[g]], g] for each of G offsets; entry 0 is for positions outside the
    sequence.

    Attributes:
        entries: int64 [T], the entry of each token's type, from 1.
        offsets: int64 [G].
        vectors: float32 [V, G, L].
    """

    entries: np.ndarray
    offsets: np.ndarray
    vectors: np.ndarray


NOTHING_SHARED = SharedScores(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0, 0), np.float32))
"""No scores by word types."""


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
def _sum_types(columns, program, group_starts, table, attributes, weights, sums):
    """Write the sum of the weights of each group's features, for each of n types, to sums, float32 [n, G, L].

    Args:
        columns: the types, in any number of sequences.
        program, group_starts: templates, which read one token each, and the first one of each group.
    """
    n_types = sums.shape[0]
    scores = np.empty((n_types, sums.shape[2]))
    for g in range(len(group_starts) - 1):
        first, end = group_starts[g], group_starts[g + 1]
        starts, seeds = program.starts[first : end + 1], program.seeds[first:end]
        group = Program(starts, program.columns, program.offsets, seeds, program.reals)
        feature_starts = np.zeros(n_types + 1, np.int64)
        rows, values = np.empty(n_types * len(seeds), np.int32), np.empty(n_types * len(seeds), np.float32)
        extract(columns, group, table, False, 0, feature_starts, rows, values)
        score_fixed(feature_starts, rows, values, 0, n_types, weights, scores)
        for number in range(n_types):
            add_attributes(attributes, scores[number])
            sums[number, g] = scores[number]


@dataclass
class _StoredSums:
    """The vectors of `SharedScores`, with room for more; entries: int64, of each type, or 0; known: the last entry."""

    vectors: np.ndarray
    entries: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    known: int = 0


@dataclass(frozen=True, eq=False)
class TypeSums:
    """The summed scores of word types by fixed weights, for the types read so far.

    They are stored for as long as the reader knows the types.

    Attributes:
        reader: of columns.
        groups: templates over these columns.
        table: of their features.
        weights: of its rows.
        constraints: of the labels.
    """

    reader: ColumnReader
    groups: Groups
    table: Table
    weights: FixedRows
    constraints: Constraints
    _lock: Any = field(default_factory=Lock)
    _stored: WeakKeyDictionary[Generation, _StoredSums] = field(default_factory=WeakKeyDictionary)

    def of(self, types: Types) -> SharedScores:
        """The scores of the tokens' types; new types are scored and stored."""
        with self._lock:
            stored = self._stored.get(types.generation)
            if stored is None:
                stored = self._stored[types.generation] = _StoredSums(self._outside())
            if types.keys.shape[1] > len(stored.entries):
                stored.entries = extended(stored.entries, types.keys.shape[1])
            entries = stored.entries[types.ids]
            if not entries.all():
                # `np.unique` would import `numpy.ma`.
                is_new = np.zeros(len(stored.entries), np.bool_)
                is_new[types.ids[entries == 0]] = True
                self._add(stored, types, np.flatnonzero(is_new))
                entries = stored.entries[types.ids]
            if stored.vectors.size > MAX_SCORES:
                del self._stored[types.generation]
        return SharedScores(entries, self.groups.offsets, stored.vectors)

    def _add(self, stored: _StoredSums, types: Types, new: np.ndarray) -> None:
        """Append the summed scores of new types, int64, to those that are stored."""
        known, needed = stored.known + 1, stored.known + 1 + len(new)
        if needed > len(stored.vectors):
            larger = np.zeros((2 * needed, *stored.vectors.shape[1:]), np.float32)
            larger[:known] = stored.vectors[:known]
            stored.vectors = larger
        columns = self.reader.columns_of_types(types, new)
        self._sum(columns, self.groups.program, stored.vectors[known:needed])
        stored.entries[new] = np.arange(known, needed)
        stored.known = needed - 1

    def _outside(self) -> np.ndarray:
        """Entry 0, for positions outside the sequence, float32 [1, G, L]."""
        program, n_columns = self.groups.program, len(self.reader.attributes)
        nothing = Columns(np.arange(2), np.zeros((n_columns, 1), np.uint64), np.ones((n_columns, 1), np.float32))
        sums = np.zeros((1, len(self.groups.offsets), len(self.constraints.start)), np.float32)
        self._sum(nothing, program._replace(offsets=np.ones_like(program.offsets)), sums)
        return sums

    def _sum(self, columns: Columns, program: Program, sums: np.ndarray) -> None:
        """Write the scores of types, by groups of templates, to sums, float32 [n, G, L]."""
        _sum_types(columns, program, self.groups.starts, self.table, self.constraints.attributes, self.weights, sums)
