"""The feature index: from columns to sparse feature rows, exact or hashed."""

import numpy as np

from .hashing import Columns, Program, Table, extract, insert_all, rehash


def empty_table(hash_bits: int | None = None) -> Table:
    """A table without rows, or one that hashes into 2^hash_bits rows."""
    return new_table(1 if hash_bits else 1 << 16, hash_bits or 0)


def new_table(slots: int, hash_bits: int = 0) -> Table:
    """An empty table with so many slots, a power of two."""
    return Table(np.zeros(slots, np.uint64), np.zeros(slots, np.int32), np.array([0, hash_bits]))


def grown(table: Table, slots: int) -> Table:
    """The same table with more slots, a power of two."""
    larger = new_table(slots)
    rehash(table, larger)
    return larger


def n_rows(table: Table) -> int:
    """Number of feature rows."""
    used, bits = map(int, table.counts)
    return 1 << bits if bits and len(table.keys) == 1 else used


def row_keys(table: Table) -> np.ndarray:
    """The key of each row, uint64 [R]: `table_of` of them gives the same rows."""
    if len(table.keys) == 1:
        return np.arange(1, n_rows(table) + 1, dtype=np.uint64)
    keys = np.zeros(n_rows(table), np.uint64)
    used = table.keys != 0
    keys[table.rows[used]] = table.keys[used]
    return keys


def look_up_features(columns: Columns, program: Program, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feature starts int64 [T + 1], rows int32 and values float32 of all tokens; unknown features are left out."""
    feature_starts, rows, values = _room(columns, program)
    extract(columns, program, table, False, 0, feature_starts, rows, values)
    return _trim(feature_starts, rows, values)


def add_features(columns: Columns, program: Program, table: Table) -> tuple[Table, np.ndarray, np.ndarray, np.ndarray]:
    """The same, but unknown features are added to the table, which is replaced by a larger one where it must be."""
    feature_starts, rows, values = _room(columns, program)
    sequence = 0
    while True:
        sequence = extract(columns, program, table, True, sequence, feature_starts, rows, values)
        if sequence == len(columns.starts) - 1:
            return table, *_trim(feature_starts, rows, values)
        longest = int(columns.starts[sequence + 1] - columns.starts[sequence]) * len(program.seeds)
        slots = 2 * len(table.keys)
        while slots // 2 < n_rows(table) + longest:
            slots *= 2
        table = grown(table, slots)


def table_of(keys: np.ndarray, hash_bits: int) -> Table:
    """A table that maps keys[r], distinct uint64, to row r; with hash_bits, to look up and not to add to."""
    slots = 1 << (4 * max(len(keys), 4) - 1).bit_length()
    table = new_table(slots, hash_bits)
    insert_all(table, keys)
    return table


def _room(columns: Columns, program: Program) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_tokens = int(columns.starts[-1])
    max_features = n_tokens * len(program.seeds)
    return np.zeros(n_tokens + 1, np.int64), np.empty(max_features, np.int32), np.empty(max_features, np.float32)


def _trim(starts: np.ndarray, rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return starts, rows[: starts[-1]].copy(), values[: starts[-1]].copy()
