"""The weights of a linear chain in a model file: sparse rows of label weights, and transitions."""

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import srsly
from thinc.api import Model

from ...features.attributes import DOCUMENT_LABEL
from ...features.sets import KEY_BITS, MAX_HASH_BITS
from ...features.templates import parse_templates, reads
from ..packing import (
    EXACT,
    PART_TYPES,
    Packing,
    compress,
    pack,
    pack_floats,
    pack_indices,
    pack_numbers,
    unpack,
    unpack_floats,
    unpack_indices,
    unpack_numbers,
)
from ..store import NAMES, DamagedModel, load_arrays, require, require_weights, store_arrays
from .sparse_rows import NO_ROWS, SparseRows, indices_of, sparse_rows, taken

MAX_NAME = 200
"""Characters of a name that are kept."""
SEEN = "seen"
_TYPES = {"keys": (np.uint8,), **PART_TYPES, "transitions": (np.uint8, np.float32)}
TYPES = {**_TYPES, SEEN: (np.uint8,)}
FIRST_PASS = "first_pass_"
"""Before the names of the arrays of a first pass, which a file has if a template reads its labels."""
FIRST_PASS_TYPES = {FIRST_PASS + name: types for name, types in _TYPES.items()}


class ChainWeights(NamedTuple):
    """The weights to predict with, of R feature rows and L labels.

    keys: uint64 [R], ascending, the low KEY_BITS bits of each row's feature hash; with a hashed index its row, from 1.
    transitions: float32 [L, L], of the steps from label i to label j. rows: the label weights of each row.
    hash_bits: 0 for an exact index.
    seen: uint8 [R], log₂(1 + n), rounded, of how often the feature of each row was seen in training; None if unknown.
    names: of the feature of each row, empty if it is unknown; None if names are not saved.
    first_pass: of a chain with labels of its own and without hash_bits, seen and names; None if there is none.
    """

    keys: np.ndarray
    transitions: np.ndarray
    rows: SparseRows
    hash_bits: int
    seen: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    first_pass: "ChainWeights | None" = None


def no_weights(n_labels: int) -> ChainWeights:
    """Those before anything is learnt."""
    return ChainWeights(np.zeros(0, np.uint64), np.zeros((n_labels, n_labels), np.float32), NO_ROWS, 0)


def in_use(
    indices: np.ndarray, values: np.ndarray, keys: np.ndarray, hash_bits: int, n_labels: int, seen: np.ndarray | None
) -> ChainWeights:
    """The non-zero ones of R feature rows.

    indices: int64, ascending, and values: float64, the weights that are not zero among L·L + R·L as `Chains` lays them
    out. keys: uint64 [R], in any order. seen: uint8 [R] or None.
    """
    begin = n_labels * n_labels
    n_transitions = int(np.searchsorted(indices, begin))
    transitions = np.zeros((n_labels, n_labels), np.float32)
    transitions.reshape(-1)[indices[:n_transitions]] = values[:n_transitions]
    rows = sparse_rows(indices[n_transitions:] - begin, values[n_transitions:], len(keys), n_labels)
    used = np.flatnonzero(np.diff(rows.starts))
    used = used[np.argsort(keys[used])]
    return ChainWeights(keys[used], transitions, taken(rows, used), hash_bits, None if seen is None else seen[used])


def as_vector(weights: ChainWeights) -> np.ndarray:
    """All weights as `Chains` lays them out: float32 [L·L + R·L], the transitions, then the block of each row."""
    n_labels = len(weights.transitions)
    begin = n_labels * n_labels
    vector = np.zeros(begin + (len(weights.rows.starts) - 1) * n_labels, np.float32)
    vector[:begin] = weights.transitions.ravel()
    vector[begin + indices_of(weights.rows, n_labels)] = weights.rows.values
    return vector


def store(
    model: Model, weights: ChainWeights, labels: Sequence[str], packing: Packing = EXACT, exact: bool = True
) -> None:
    """Put the weights into the model as sparse rows; rows without a non-zero weight are left out.

    labels: L names; the digest covers them too, and what the features are made of. packing: of the rows; transitions
    are always exact. exact: whether the weights are as they were learnt, neither pruned nor rounded before.
    """
    arrays, used = _packed("", weights, packing)
    arrays[SEEN] = pack_numbers(None if weights.seen is None else weights.seen[used])
    if reads_first_pass(model):
        first_pass = no_weights(0) if weights.first_pass is None else weights.first_pass
        arrays.update(_packed(FIRST_PASS, first_pass, packing)[0])
    model.attrs.pop(NAMES, None)
    if weights.names is not None:
        model.attrs[NAMES] = pack_names([weights.names[number] for number in used.tolist()])
    store_arrays(model, arrays, [len(labels), weights.hash_bits], labels, exact and packing == EXACT)


def load(model: Model, labels: Sequence[str]) -> ChainWeights:
    """Take the weights out of the model, every shape and index checked.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    n_labels = len(labels)
    has_first_pass = reads_first_pass(model)
    types = {**TYPES, **FIRST_PASS_TYPES} if has_first_pass else TYPES
    arrays, (width, bits) = load_arrays(model, types, 2, labels, added=[SEEN])
    require(width == n_labels, f"it has weights for {width} labels, but the component has {n_labels}")
    require(0 <= bits <= MAX_HASH_BITS, "its hash size is out of range")
    weights = _unpacked("", arrays, n_labels, bits)
    n_rows = len(weights.keys)
    names = unpack_names(model.attrs[NAMES], n_rows) if NAMES in model.attrs else None
    seen = unpack_numbers(arrays[SEEN], n_rows) if SEEN in arrays else None
    first_pass = None
    if has_first_pass:
        n_first = len(_transitions(arrays[f"{FIRST_PASS}transitions"], n_labels))
        first_pass = _unpacked(FIRST_PASS, arrays, n_first, 0) if n_first else None
    return weights._replace(seen=seen, names=names, first_pass=first_pass)


def reads_first_pass(model: Model) -> bool:
    """Whether a template reads the labels of a first pass."""
    return any(reads(template, DOCUMENT_LABEL) for template in parse_templates(model.attrs["templates"]))


def _packed(prefix: str, weights: ChainWeights, packing: Packing) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The arrays of transitions and rows, and the rows with a weight that is kept, int64."""
    transitions, n_labels = weights.transitions, len(weights.transitions)
    sparse = compress(indices_of(weights.rows, n_labels), weights.rows.values, packing)
    row = sparse.indices // max(n_labels, 1)
    first = np.diff(row, prepend=-1) != 0
    used, place = row[first], np.cumsum(first) - 1
    arrays = {
        f"{prefix}keys": pack_indices(weights.keys[used]),
        **pack(prefix, sparse._replace(indices=sparse.indices + (place - row) * n_labels)),
        f"{prefix}transitions": pack_floats(transitions.ravel() if transitions.any() else transitions[:0].ravel()),
    }
    return arrays, used


def _unpacked(prefix: str, arrays: Mapping[str, np.ndarray], n_labels: int, bits: int) -> ChainWeights:
    """The weights in the arrays of `_packed`.

    Raises:
        DamagedModel: an array is of a wrong shape or range.
    """
    transitions = _transitions(arrays[f"{prefix}transitions"], n_labels)
    require(len(transitions) in (n_labels, 0), "its transitions do not fit its labels")
    keys = unpack_indices(arrays[f"{prefix}keys"], (1 << (bits or KEY_BITS)) + 1)
    require(not len(keys) or int(keys[0]) > 0, "a feature key is out of range")
    indices, values = unpack(prefix, arrays, len(keys) * n_labels)
    transitions = transitions if len(transitions) else np.zeros((n_labels, n_labels), np.float32)
    rows = sparse_rows(indices, values, len(keys), n_labels)
    return ChainWeights(keys.astype(np.uint64), transitions, rows, bits)


def _transitions(stored: np.ndarray, max_labels: int) -> np.ndarray:
    """The transitions in an array of `_packed`, float32 [L, L]; L is 0 if they are all 0. Before format 5, they are not
    packed.

    Raises:
        DamagedModel: the array is damaged, or it has transitions of more than max_labels labels.
    """
    complaint = "its transitions do not fit its labels"
    if stored.dtype == np.uint8:
        flat = unpack_floats(stored, max_labels * max_labels)
        n_labels = math.isqrt(len(flat))
        require(n_labels * n_labels == len(flat), complaint)
        stored = flat.reshape(n_labels, n_labels)
    require(stored.ndim == 2 and stored.shape[0] == stored.shape[1] <= max_labels, complaint)
    require_weights(stored)
    return stored


def split(vector: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Views of such a vector: transitions [L, L] and rows [R, L]."""
    end = n_labels * n_labels
    return vector[:end].reshape(n_labels, n_labels), vector[end:].reshape(-1, max(n_labels, 1))


def has_weight(weights: ChainWeights) -> np.ndarray:
    """Whether each label has a weight other than 0, of a feature or of a transition, bool [L]."""
    found = np.asarray(weights.transitions.any(axis=0) | weights.transitions.any(axis=1))
    found[weights.rows.labels] = True
    return found


def widen(weights: ChainWeights, n_labels: int) -> ChainWeights:
    """The same weights, and zeros for labels that have been appended, up to n_labels."""
    more = n_labels - len(weights.transitions)
    return weights._replace(transitions=np.pad(weights.transitions, ((0, more), (0, more))))


def spread(weights: ChainWeights) -> ChainWeights:
    """Hashed rows at their place among all 2ᵇ, the others zero; without names."""
    places, n_rows = weights.keys.astype(np.int64) - 1, 1 << weights.hash_bits
    sizes, seen = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.uint8)
    sizes[places] = np.diff(weights.rows.starts)
    seen[places] = 0 if weights.seen is None else weights.seen
    rows = weights.rows._replace(starts=np.concatenate([[0], np.cumsum(sizes)]))
    keys = np.arange(1, n_rows + 1, dtype=np.uint64)
    return weights._replace(keys=keys, rows=rows, seen=seen, names=None)


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
