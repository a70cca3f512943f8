"""The feature index, from columns of keys to feature rows: a template's parts are hashed, and the hash is looked up.

The hash is state ← (state ⊕ key) · MULTIPLIER, then state ← state ⊕ (state >> SHIFT).
"""

from typing import NamedTuple

import numpy as np

from ..kernels import Float32Array2d, Int64Array, UInt64Array, UInt64Array2d, kernel, prefetch

MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
SHIFT = np.uint64(32)
"""Constants of the hash."""

ABSENT = -1
"""The row of a key that a table does not have."""


def mixed(values: np.ndarray) -> np.ndarray:
    """A hash of each row of values, uint64 [T, A] → uint64 [T]."""
    state = np.full(len(values), values.shape[1], np.uint64)
    for column in np.ascontiguousarray(values.T, np.uint64):
        state = (state ^ column) * MULTIPLIER
        state ^= state >> SHIFT
    return state


BOUNDARY_KEY = np.uint64(0x9E3779B97F4A7C15)
"""The key of every attribute before the first and after the last token of a sequence."""
KEY_BITS = 48
"""The number of low bits of a feature's hash in an exact index; each takes a bit in the model file.

Among 300,000 features two are alike in one index of 6,000; with 40 bits it is one of 25.
"""
_KEY = np.uint64((1 << KEY_BITS) - 1)


class Program(NamedTuple):
    """F compiled templates with P parts.

    Attributes:
        starts: int64 [F + 1], first part of each template.
        columns, offsets: int64 [P], the parts.
        seeds: uint64 [F], initial hash state of each template.
        reals: int64 [C], for each column, the row of `Columns.reals` with its values, or -1.
    """

    starts: Int64Array
    columns: Int64Array
    offsets: Int64Array
    seeds: UInt64Array
    reals: Int64Array


class Table(NamedTuple):
    """A hash table, hash → row, with open addressing and linear probing.

    With bits > 0, only the low bits of a hash are used; a table with a single slot then maps them to themselves.

    Attributes:
        keys: uint64 [2ᵏ], 0 for a free slot.
        rows: int32 [2ᵏ].
        counts: int64 [2]: the number of rows, bits.
    """

    keys: np.ndarray
    rows: np.ndarray
    counts: np.ndarray


class Columns(NamedTuple):
    """Attribute keys of n sequences of T tokens in total.

    Attributes:
        starts: int64 [n + 1], first token of each sequence.
        keys: uint64 [C, T], 0 for no value.
        reals: float32 [E, T], values of real-valued columns.
    """

    starts: Int64Array
    keys: UInt64Array2d
    reals: Float32Array2d


@kernel
def mix(state, key):
    """The 64-bit hash state after one more 64-bit key."""
    state = (state ^ key) * MULTIPLIER
    return state ^ (state >> SHIFT)


@kernel
def low_bits(key, bits):
    """The part of a hash that a hashed index uses, 1 … 2ᵇ, because 0 marks a free slot."""
    return (key & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1))) + np.uint64(1)


@kernel
def look_up(table, key):
    """The row of a hash, or ABSENT."""
    if table.counts[1] > 0:
        key = low_bits(key, table.counts[1])
        if len(table.keys) == 1:
            return np.int64(key) - 1
    key = max(key, np.uint64(1))
    last = np.uint64(len(table.keys) - 1)
    slot = key & last
    while table.keys[slot] != key:
        if table.keys[slot] == 0:
            return np.int64(ABSENT)
        slot = (slot + np.uint64(1)) & last
    return np.int64(table.rows[slot])


@kernel
def insert(table, key):
    """The row of a hash; a new hash gets the next row. There must be a free slot."""
    if table.counts[1] > 0 and len(table.keys) == 1:
        return np.int64(low_bits(key, table.counts[1])) - 1
    key = max(key, np.uint64(1))
    last = np.uint64(len(table.keys) - 1)
    slot = key & last
    while table.keys[slot] != key:
        if table.keys[slot] == 0:
            table.keys[slot] = key
            table.rows[slot] = table.counts[0]
            table.counts[0] += 1
        else:
            slot = (slot + np.uint64(1)) & last
    return np.int64(table.rows[slot])


AHEAD = 32
"""The number of keys that are inserted while the slot of a later one is fetched."""


@kernel
def insert_all(table, keys):
    """Insert keys, possibly reduced to their low bits already; keys[r] gets row r."""
    last = np.uint64(len(table.keys) - 1)
    for row in range(len(keys)):
        if row + AHEAD < len(keys):
            slot = np.int64(keys[row + AHEAD] & last)
            prefetch(table.keys, slot)
            prefetch(table.rows, slot)
        insert(table, keys[row])


@kernel
def rehash(table, larger):
    """Copy all hashes and rows into an empty, larger table."""
    last = np.uint64(len(larger.keys) - 1)
    for old in range(len(table.keys)):
        key = table.keys[old]
        if key != 0:
            slot = key & last
            while larger.keys[slot] != 0:
                slot = (slot + np.uint64(1)) & last
            larger.keys[slot] = key
            larger.rows[slot] = table.rows[old]
    for k in range(len(table.counts)):
        larger.counts[k] = table.counts[k]


BLOCK = 32
"""The number of tokens whose features are hashed together: enough for vectors, without exceeding the fastest cache."""


@kernel
def _new_block(program):
    """Scratch for `_hash`: keys uint64 [F, BLOCK] and values float32 [F, BLOCK]."""
    return np.empty((len(program.seeds), BLOCK), np.uint64), np.empty((len(program.seeds), BLOCK), np.float32)


@kernel
def _hash(columns, program, begin, size, first, end, keys, values):
    """Write the KEY_BITS of each template's hash and its value at tokens begin … begin + size − 1 of a sequence.

    The sequence has the tokens first … end − 1. A value is 0 where a template does not fire. keys, values: output, of
    `_new_block`.
    """
    # Unsigned places need no check for negative ones, so that the loops are vectorised.
    n, is_open = np.uint64(size), np.empty(BLOCK, np.bool_)
    for template in range(len(program.seeds)):
        state, value = keys[template], values[template]
        for t in range(n):
            state[t], value[t], is_open[t] = program.seeds[template], 1.0, True
        for part in range(program.starts[template], program.starts[template + 1]):
            column, at = columns.keys[program.columns[part]], begin + program.offsets[part]
            inside = np.uint64(min(max(first - at, 0), size))
            outside = np.uint64(max(min(end - at, size), np.int64(inside)))
            for t in range(inside):
                state[t] = mix(state[t], BOUNDARY_KEY)
            shift = np.uint64(at)
            for t in range(inside, outside):
                key = column[shift + t]
                state[t] = mix(state[t], key)
                is_open[t] &= key != 0
            for t in range(outside, n):
                state[t] = mix(state[t], BOUNDARY_KEY)
            if program.reals[program.columns[part]] >= 0:
                real = columns.reals[program.reals[program.columns[part]]]
                for t in range(inside, outside):
                    value[t] *= real[shift + t]
        for t in range(n):
            state[t] = mix(state[t], np.uint64(0)) & _KEY
            value[t] = value[t] if is_open[t] else np.float32(0.0)


@kernel
def _fetch(table, keys, size):
    """Start to fetch the slots of a block's keys."""
    last = np.uint64(len(table.keys) - 1)
    for template in range(len(keys)):
        for t in range(size):
            prefetch(table.keys, np.int64(keys[template, t] & last))


@kernel
def extract(columns, program, table, growing, sequence, feature_starts, rows, values):
    """Append the feature rows and values of all tokens from `sequence` on.

    Only the low KEY_BITS of a feature's hash are used. feature_starts: int64 [T + 1], filled up to the last processed
    token. rows: int32, values: float32, large enough for all tokens. growing: whether unknown features get a new row,
    rather than being left out; extraction then stops before the first sequence that might fill more than half of the
    table. Returns the next sequence to process.
    """
    n_templates = len(program.seeds)
    keys, found = _new_block(program)
    while sequence < len(columns.starts) - 1:
        first, end = columns.starts[sequence], columns.starts[sequence + 1]
        if growing and table.counts[1] == 0 and table.counts[0] + (end - first) * n_templates > len(table.keys) // 2:
            return sequence
        for begin in range(first, end, BLOCK):
            size = min(end - begin, BLOCK)
            _hash(columns, program, begin, size, first, end, keys, found)
            _fetch(table, keys, size)
            for t in range(size):
                place = feature_starts[begin + t]
                for template in range(n_templates):
                    if found[template, t] != 0.0:
                        key = keys[template, t]
                        row = insert(table, key) if growing else look_up(table, key)
                        if row != ABSENT:
                            rows[place] = row
                            values[place] = found[template, t]
                            place += 1
                feature_starts[begin + t + 1] = place
        sequence += 1
    return sequence


@kernel
def extract_at(columns, program, table, tokens, feature_starts, rows, values):
    """`extract` for some tokens only, int64 [N], ascending; unknown features are left out.

    Args:
        feature_starts: int64 [N + 1].
    """
    keys, found = _new_block(program)
    sequence, n = 0, 0
    while n < len(tokens):
        begin, size = tokens[n], 1
        while columns.starts[sequence + 1] <= begin:
            sequence += 1
        first, end = columns.starts[sequence], columns.starts[sequence + 1]
        longest = min(len(tokens) - n, min(end - begin, BLOCK))
        while size < longest and tokens[n + size] == begin + size:
            size += 1
        _hash(columns, program, begin, size, first, end, keys, found)
        _fetch(table, keys, size)
        for t in range(size):
            place = feature_starts[n + t]
            for template in range(len(program.seeds)):
                if found[template, t] != 0.0:
                    row = look_up(table, keys[template, t])
                    if row != ABSENT:
                        rows[place] = row
                        values[place] = found[template, t]
                        place += 1
            feature_starts[n + t + 1] = place
        n += size


@kernel
def write_keys(columns, program, feature_starts, rows, first_row, keys):
    """Write the keys of the rows from `first_row` on, which occur in the rows that `extract` found, to `keys`."""
    hashed, found = _new_block(program)
    for sequence in range(len(columns.starts) - 1):
        first, end = columns.starts[sequence], columns.starts[sequence + 1]
        for begin in range(first, end, BLOCK):
            size = min(end - begin, BLOCK)
            _hash(columns, program, begin, size, first, end, hashed, found)
            for t in range(size):
                place = feature_starts[begin + t]
                for template in range(len(program.seeds)):
                    if found[template, t] != 0.0:
                        if rows[place] >= first_row:
                            keys[rows[place] - first_row] = max(hashed[template, t], np.uint64(1))
                        place += 1


def empty_table(hash_bits: int | None = None) -> Table:
    """A table without rows, or, with hash_bits, one that maps hashes to 2^hash_bits rows."""
    return new_table(1 if hash_bits else 1 << 16, hash_bits or 0)


def new_table(slots: int, hash_bits: int = 0) -> Table:
    """An empty table with the given number of slots, a power of two."""
    return Table(np.zeros(slots, np.uint64), np.zeros(slots, np.int32), np.array([0, hash_bits]))


def grown(table: Table, slots: int) -> Table:
    """A copy of a table with more slots, a power of two."""
    larger = new_table(slots)
    rehash(table, larger)
    return larger


def n_rows(table: Table) -> int:
    """The number of feature rows."""
    n_used, bits = map(int, table.counts)
    return 1 << bits if bits and len(table.keys) == 1 else n_used


def row_keys(table: Table) -> np.ndarray:
    """The key of each row, uint64 [R], from which `table_of` makes a table with the same rows."""
    if len(table.keys) == 1:
        return np.arange(1, n_rows(table) + 1, dtype=np.uint64)
    keys = np.zeros(n_rows(table), np.uint64)
    is_used = table.keys != 0
    keys[table.rows[is_used]] = table.keys[is_used]
    return keys


def look_up_features(columns: Columns, program: Program, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feature starts int64 [T + 1], rows int32 and values float32 of all tokens; unknown features are left out."""
    feature_starts, rows, values = _empty_features(columns, program)
    extract(columns, program, table, False, 0, feature_starts, rows, values)
    return _trim(feature_starts, rows, values)


def add_features(columns: Columns, program: Program, table: Table) -> tuple[Table, np.ndarray, np.ndarray, np.ndarray]:
    """Look up features, and add unknown ones to the table, which is enlarged as needed.

    Returns the table, feature starts, rows and values.
    """
    feature_starts, rows, values = _empty_features(columns, program)
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
    """A table that maps keys[r], distinct uint64, to row r; with hash_bits, no rows may be added to it."""
    slots = 1 << (2 * max(len(keys), 4) - 1).bit_length()
    table = new_table(slots, hash_bits)
    insert_all(table, keys)
    return table


def _empty_features(columns: Columns, program: Program) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_tokens = int(columns.starts[-1])
    max_features = n_tokens * len(program.seeds)
    return np.zeros(n_tokens + 1, np.int64), np.empty(max_features, np.int32), np.empty(max_features, np.float32)


def _trim(starts: np.ndarray, rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return starts, rows[: starts[-1]].copy(), values[: starts[-1]].copy()


def places_in(ascending: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The place of each value among ascending numbers, int64; ABSENT where it is none of them."""
    if not len(ascending):
        return np.full(len(values), ABSENT)
    places = np.searchsorted(ascending, values).clip(max=len(ascending) - 1)
    return np.where(ascending[places] == values, places, ABSENT)
