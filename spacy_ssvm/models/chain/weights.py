"""The weights of a linear chain in a model file: sparse rows of label weights, and transitions."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import srsly
from thinc.api import Model

from ...features.sets import KEY_BITS, MAX_HASH_BITS
from ..packing import (
    EXACT,
    PART_TYPES,
    Packing,
    compress,
    pack,
    pack_indices,
    pack_numbers,
    unpack,
    unpack_indices,
    unpack_numbers,
)
from ..store import NAMES, DamagedModel, load_arrays, require, require_weights, store_arrays

MAX_NAME = 200
"""Characters of a name that are kept."""
SEEN = "seen"
TYPES = {"keys": (np.uint8,), **PART_TYPES, "transitions": (np.float32,), SEEN: (np.uint8,)}


class ChainWeights(NamedTuple):
    """The weights to predict with, of R feature rows and L labels.

    keys: uint64 [R], ascending, the low KEY_BITS bits of each row's feature hash; with a hashed index its row, from 1.
    vector: float32 [L·L + R·L], the transitions from label i to label j, then the block of label weights of each row.
    hash_bits: 0 for an exact index.
    seen: uint8 [R], log₂(1 + n), rounded, of how often the feature of each row was seen in training; None if unknown.
    names: of the feature of each row, empty if it is unknown; None if names are not saved.
    """

    keys: np.ndarray
    vector: np.ndarray
    hash_bits: int
    seen: np.ndarray | None = None
    names: tuple[str, ...] | None = None


def in_use(
    indices: np.ndarray, values: np.ndarray, keys: np.ndarray, hash_bits: int, n_labels: int, seen: np.ndarray | None
) -> ChainWeights:
    """The non-zero ones of R feature rows.

    indices: int64, ascending, and values: float64, the weights that are not zero among L·L + R·L as `Chains` lays them
    out. keys: uint64 [R], in any order. seen: uint8 [R] or None.
    """
    begin = n_labels * n_labels
    n_transitions = int(np.searchsorted(indices, begin))
    row, label = np.divmod(indices[n_transitions:] - begin, n_labels)
    is_first = np.diff(row, prepend=-1) != 0
    used = row[is_first]
    order = np.argsort(keys[used])
    place = np.empty(len(used), np.int64)
    place[order] = np.arange(len(used))
    vector = np.zeros((n_labels + len(used)) * n_labels, np.float32)
    vector[indices[:n_transitions]] = values[:n_transitions]
    vector[begin + place[np.cumsum(is_first) - 1] * n_labels + label] = values[n_transitions:]
    used = used[order]
    return ChainWeights(keys[used], vector, hash_bits, None if seen is None else seen[used])


def store(
    model: Model, weights: ChainWeights, labels: Sequence[str], packing: Packing = EXACT, exact: bool = True
) -> None:
    """Put the weights into the model as sparse rows; rows without a non-zero weight are left out.

    labels: L names; the digest covers them too, and what the features are made of. packing: of the rows; transitions
    are always exact. exact: whether the weights are as they were learnt, neither pruned nor rounded before.
    """
    n_labels = len(labels)
    transitions, rows = split(weights.vector, n_labels)
    sparse = compress(rows.ravel(), packing)
    row = sparse.indices // n_labels
    first = np.diff(row, prepend=-1) != 0
    used, place = row[first], np.cumsum(first) - 1
    model.attrs.pop(NAMES, None)
    if weights.names is not None:
        model.attrs[NAMES] = pack_names([weights.names[number] for number in used.tolist()])
    arrays = {
        "keys": pack_indices(weights.keys[used]),
        **pack("", sparse._replace(indices=sparse.indices + (place - row) * n_labels)),
        # A view would keep all weights alive for as long as the model remembers it.
        "transitions": transitions.copy(),
        SEEN: pack_numbers(None if weights.seen is None else weights.seen[used]),
    }
    store_arrays(model, arrays, [n_labels, weights.hash_bits], labels, exact and packing == EXACT)


def load(model: Model, labels: Sequence[str]) -> ChainWeights:
    """Take the weights out of the model, every shape and index checked.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    n_labels = len(labels)
    arrays, (width, bits) = load_arrays(model, TYPES, 2, labels, added=[SEEN])
    require(width == n_labels, f"it has weights for {width} labels, but the component has {n_labels}")
    require(arrays["transitions"].shape == (n_labels, n_labels), "its transitions do not fit its labels")
    require_weights(arrays["transitions"])
    require(0 <= bits <= MAX_HASH_BITS, "its hash size is out of range")
    keys = unpack_indices(arrays["keys"], (1 << (bits or KEY_BITS)) + 1)
    require(not len(keys) or int(keys[0]) > 0, "a feature key is out of range")
    indices, values = unpack("", arrays, len(keys) * n_labels)
    vector = np.zeros((n_labels + len(keys)) * n_labels, np.float32)
    transitions, rows = split(vector, n_labels)
    transitions[:] = arrays["transitions"]
    rows.reshape(-1)[indices] = values
    names = unpack_names(model.attrs[NAMES], len(keys)) if NAMES in model.attrs else None
    seen = unpack_numbers(arrays[SEEN], len(keys)) if SEEN in arrays else None
    return ChainWeights(keys.astype(np.uint64), vector, bits, seen, names)


def split(vector: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Views of such a vector: transitions [L, L] and rows [R, L]."""
    end = n_labels * n_labels
    return vector[:end].reshape(n_labels, n_labels), vector[end:].reshape(-1, n_labels)


def has_weight(vector: np.ndarray, n_labels: int) -> np.ndarray:
    """Whether each label has a weight other than 0, of a feature or of a transition, bool [L]."""
    transitions, rows = split(vector, n_labels)
    return np.asarray(rows.any(axis=0) | transitions.any(axis=0) | transitions.any(axis=1))


def widen(weights: ChainWeights, before: int, after: int) -> ChainWeights:
    """The same weights with zeros for labels that have been appended: `before` of them become `after`."""
    transitions, rows = split(weights.vector, before)
    more = after - before
    return weights._replace(
        vector=np.concatenate(
            [np.pad(transitions, ((0, more), (0, more))).ravel(), np.pad(rows, ((0, 0), (0, more))).ravel()]
        )
    )


def spread(weights: ChainWeights, n_labels: int) -> ChainWeights:
    """Hashed rows at their place among all 2ᵇ, the others zero; without names."""
    n_rows = 1 << weights.hash_bits
    transitions, rows = split(weights.vector, n_labels)
    everywhere = np.zeros((n_rows, n_labels), np.float32)
    everywhere[weights.keys - 1] = rows
    seen = np.zeros(n_rows, np.uint8)
    seen[weights.keys - 1] = 0 if weights.seen is None else weights.seen
    vector = np.concatenate([transitions.ravel(), everywhere.ravel()])
    return weights._replace(keys=np.arange(1, n_rows + 1, dtype=np.uint64), vector=vector, seen=seen, names=None)


def pack_names(names: Sequence[str]) -> np.ndarray:
    """One name for each row of weights as bytes, uint8."""
    return np.frombuffer(zlib.compress(srsly.msgpack_dumps([name[:MAX_NAME] for name in names])), np.uint8)


def unpack_names(packed: object, n_rows: int) -> tuple[str, ...]:
    """The names that `pack_names` has packed.

    Raises:
        DamagedModel: the bytes are damaged, or there are not as many names as rows.
    """
    complaint = "the names of its features are damaged"
    if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8 or packed.ndim != 1:
        raise DamagedModel(complaint)
    inflate = zlib.decompressobj()
    # In UTF-8 a character is at most four bytes, and before each string there are at most five.
    max_bytes = n_rows * (4 * MAX_NAME + 5) + 5
    try:
        names = srsly.msgpack_loads(inflate.decompress(packed.tobytes(), max_bytes + 1))
    except Exception as error:
        # Whatever the reader of msgpack makes of garbage.
        raise DamagedModel(f"{complaint}: {error}") from None
    whole = inflate.eof and not inflate.unused_data
    require(whole and isinstance(names, list) and all(isinstance(name, str) for name in names), complaint)
    require(len(names) == n_rows, "its features and their names are not as many")
    return tuple(names)
