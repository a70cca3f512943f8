"""The feature rows of a data set, their statistics, and the weights from which training starts."""

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...features.index import (
    ABSENT,
    Columns,
    Program,
    Table,
    add_features,
    n_rows,
    places_in,
    row_keys,
    table_of,
    write_keys,
)
from ...growth import appended, extended, shared
from ...solvers.problem import Rates
from ..frequency import exponents, rates
from .rows import dense, joined_rows, taken
from .weights import ChainWeights


class StartWeights(NamedTuple):
    """The weights from which training starts, as far as a data set needs them.

    Attributes:
        seen: as in `ChainWeights`, of the rows that the data set's table has from the start; None if unknown.
        is_new: bool [L], the labels that corrections are to learn.
        is_unused: bool [L], new labels, and others without any weight.
        weights: given if the table has no rows at the start and gets only its Docs' rows; all other rows keep these
            weights.
    """

    seen: np.ndarray | None
    is_new: np.ndarray
    is_unused: np.ndarray
    weights: ChainWeights | None = None


def no_start_weights(n_labels: int, seen: np.ndarray | None = None) -> StartWeights:
    """Start weights of zero. seen: how often each row occurred, uint8 [R], or None."""
    return StartWeights(seen, np.zeros(n_labels, np.bool_), np.ones(n_labels, np.bool_))


def seen_of(weights: ChainWeights, keys: np.ndarray) -> np.ndarray | None:
    """`ChainWeights.seen` of the rows with these keys, uint64 [n]: 0 for absent ones."""
    if weights.seen is None:
        return None
    places = places_in(weights.keys, keys)
    seen = np.zeros(len(keys), np.uint8)
    seen[places != ABSENT] = weights.seen[places[places != ABSENT]]
    return seen


def blocks_of(weights: ChainWeights, keys: np.ndarray) -> np.ndarray:
    """The label weights of the rows with these keys, uint64 [n], one row after the other: float32 [n · L]."""
    places, n_labels = places_in(weights.keys, keys), len(weights.transitions)
    blocks = np.zeros((len(keys), n_labels), np.float32)
    present = np.flatnonzero(places != ABSENT)
    blocks[present] = dense(taken(weights.rows, places[present]), n_labels)
    return blocks.ravel()


def with_others(weights: ChainWeights, learnt: ChainWeights, keys: np.ndarray) -> ChainWeights:
    """The learnt weights of rows with these keys, uint64, and the earlier `weights` of all others."""
    is_other, places = np.ones(len(weights.keys), np.bool_), places_in(weights.keys, keys)
    is_other[places[places != ABSENT]] = False
    others, n_learnt = np.flatnonzero(is_other), len(learnt.keys)
    chosen = np.concatenate([np.arange(n_learnt), n_learnt + others])
    together = np.concatenate([learnt.keys, weights.keys[others]])
    order = np.argsort(together, kind="stable")
    chosen = chosen[order]
    seen = [np.zeros(len(part.keys), np.uint8) if part.seen is None else part.seen for part in (learnt, weights)]
    rows = taken(joined_rows([learnt.rows, weights.rows]), chosen)
    return learnt._replace(keys=together[order], rows=rows, seen=np.concatenate(seen)[chosen])


COUNTED_TOGETHER = 1 << 21
"""Features that are counted at a time."""


class FeatureRows:
    """The row of each feature so far, and how often it occurs.

    Args:
        program: compiled templates.
        table: the feature index, to which features are added; made from its keys after `release`.
        earlier: the weights from which training starts; zero by default.
    """

    def __init__(self, program: Program, table: Table, n_labels: int, earlier: StartWeights | None = None) -> None:
        self.earlier = no_start_weights(n_labels) if earlier is None else earlier
        self._program, self._n_labels = program, n_labels
        self._table: Table | None = table
        self._keys = np.zeros(0, np.uint64)
        """The keys of the rows, while there is no table, or where some have earlier weights."""
        self._was_released = False
        self._counts, self._n_counted = np.zeros(0, np.int32), 0
        """How often each row occurs among so many of the first features."""
        self._rates_of_rows = np.zeros(0, np.float32)
        """Learning rates of the rows so far."""

    def read(self, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The features of the tokens, with rows for new ones: `starts`, `rows` and `values` of `features.index`."""
        n_before = len(self)
        self._table, starts, rows, values = add_features(columns, self._program, self.table)
        if self.earlier.weights is not None:
            new = np.zeros(len(self) - n_before, np.uint64)
            write_keys(columns, self._program, starts, rows, n_before, new)
            self._keys = appended(self._keys, new)
        return starts, rows, values

    @property
    def table(self) -> Table:
        """The feature index."""
        if self._table is None:
            self._table = table_of(self._keys, 0)
            if self.earlier.weights is None:
                self._keys = np.zeros(0, np.uint64)
        return self._table

    def release(self) -> None:
        """Give up the index at the first call, when most Docs have been read, or all of them."""
        if not self._was_released and self._table is not None and not self.hash_bits:
            self._keys = shared(self.keys())
            self._table = None
        self._was_released = True

    def __len__(self) -> int:
        return len(self._keys) if self._table is None else n_rows(self._table)

    def keys(self) -> np.ndarray:
        """The key of each row, uint64 [R]."""
        return self._keys if self._table is None or self.earlier.weights is not None else row_keys(self._table)

    def index(self) -> np.ndarray:
        """The keys, uint64 [R], if they are an exact index; a hashed one is the same for all features."""
        return np.zeros(0, np.uint64) if self.hash_bits else self.keys()

    @property
    def hash_bits(self) -> int:
        """The bits of a hashed index; 0 for an exact one."""
        return 0 if self._table is None else int(self._table.counts[1])

    def without_tokens(self) -> "FeatureRows":
        """The rows with counts of zero."""
        rows = copy(self)
        rows.count_anew()
        return rows

    def of_keys(self, keys: np.ndarray, seen: np.ndarray) -> "FeatureRows":
        """Rows with these keys, uint64 [R], or all rows of a hashed index, which were seen so often, uint8 [R]."""
        table = self.table if self.hash_bits else table_of(keys, 0)
        return FeatureRows(self._program, table, self._n_labels, no_start_weights(self._n_labels, seen))

    def initial(self, first: int) -> np.ndarray:
        """The earlier weights from number `first` on, beyond the transitions: float32 [L² + R · L − first]."""
        assert self.earlier.weights is not None
        return blocks_of(self.earlier.weights, self.keys()[first // self._n_labels - self._n_labels :])

    def take_all(self) -> None:
        """Add the rows of all weights that training starts from."""
        if self.earlier.weights is not None:
            keys, earlier = self.keys(), self.earlier.weights.keys
            self._keys = np.concatenate([keys, earlier[~np.isin(earlier, keys)]])
            self._table = table_of(self._keys, 0)

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """How often each row occurs, int32 [R]; rows: of all features so far, int32 [F]."""
        self._counts = extended(self._counts, len(self))
        # NumPy copies what it counts, to numbers of eight bytes.
        for first in range(self._n_counted, len(rows), COUNTED_TOGETHER):
            part = rows[first : first + COUNTED_TOGETHER]
            self._counts[: part.max() + 1] += np.bincount(part)
        self._n_counted = len(rows)
        return self._counts

    def count_anew(self) -> None:
        """Forget the counts, because some features are replaced."""
        self._counts, self._n_counted = np.zeros(0, np.int32), 0

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """log₂(1 + n), rounded, uint8 [R], for rows seen n times, here or earlier; rows: as for `counts`."""
        weights = self.earlier.weights
        earlier = self.earlier.seen if weights is None else seen_of(weights, self.keys())
        return exponents(self.counts(rows), earlier)

    def rates(self) -> Rates | None:
        """Learning rates of the weights. Transitions have the rate of the most frequent feature."""
        if self.earlier.seen is None:
            return None
        n_before, weights = len(self._rates_of_rows), self.earlier.weights
        more = self.earlier.seen[n_before:] if weights is None else seen_of(weights, self._keys[n_before:])
        assert more is not None
        self._rates_of_rows = appended(self._rates_of_rows, rates(more))
        return Rates(self._rates_of_transitions, self._rates_of_rows, np.array([self._n_labels]))

    @cached_property
    def _rates_of_transitions(self) -> np.ndarray:
        assert self.earlier.seen is not None
        rate = rates(self.earlier.seen.max(initial=0, keepdims=True))
        return np.repeat(rate, self._n_labels**2)
