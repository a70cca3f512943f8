"""The weights of a linear chain in a model file: sparse rows of label weights, and transitions."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from thinc.api import Model

from ...features.attributes import DOCUMENT_LABEL
from ...features.index import KEY_BITS
from ...features.sets import MAX_HASH_BITS
from ...features.templates import parse_templates, reads
from ..layers import CORRECTED_TYPES, NO_ENTRIES, Layers, SavedLayers, layered, pack_corrected, unpack_corrected, whole
from ..packing import (
    EXACT,
    PART_TYPES,
    Packing,
    compress,
    deflated,
    inflated,
    pack,
    pack_indices,
    pack_names,
    pack_numbers,
    unpack_indices,
    unpack_names,
    unpack_numbers,
    unpack_sparse,
)
from ..store import NAMES, SHAPE, Saved, load_arrays, require, require_savable, require_weights, store_arrays
from .rows import NO_ROWS, SparseRows, indices_of, sparse_rows, taken
from .space import ChainSpace

FORMAT = 6
"""The format of chains."""

SEEN = "seen"
FREQUENT = 4
"""`ChainWeights.seen` from which a row stays in a file that drops all its weights: corrections move a row that is not
in the file as far as a new feature, which would harm other texts."""
_TYPES = {"keys": (np.uint8,), **PART_TYPES, "transitions": (np.uint8,)}
TYPES = {**_TYPES, **CORRECTED_TYPES, SEEN: (np.uint8,)}
FIRST_PASS = "first_pass_"
"""Before the names of the arrays of a first pass, which a file has if a template reads its labels."""
FIRST_PASS_TYPES = {FIRST_PASS + name: types for name, types in _TYPES.items()}


class ChainWeights(NamedTuple):
    """The weights to predict with, of R feature rows and L labels.

    Attributes:
        keys: uint64 [R], ascending, the low KEY_BITS bits of each row's feature hash; with a hashed index the row, from
            1.
        transitions: float32 [L, L], of the steps from label i to label j.
        rows: the label weights of each row.
        hash_bits: 0 for an exact index.
        seen: uint8 [R], log₂(1 + n), rounded, of how often the feature of each row was seen in training; None if
            unknown.
        names: of each row's feature, empty if unknown; None if names are not saved.
        first_pass: of a chain with labels of its own and without hash_bits, seen and names; None if there is none.
    """

    keys: np.ndarray
    transitions: np.ndarray
    rows: SparseRows
    hash_bits: int
    seen: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    first_pass: "ChainWeights | None" = None

    def size(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights."""
        n_labels = len(self.transitions)
        used, total = (0, 0) if self.first_pass is None else self.first_pass.size()
        used += len(self.rows.values) + int(np.count_nonzero(self.transitions))
        return used, total + (n_labels + len(self.keys)) * n_labels


def no_weights(n_labels: int) -> ChainWeights:
    """The weights of an untrained component."""
    return ChainWeights(np.zeros(0, np.uint64), np.zeros((n_labels, n_labels), np.float32), NO_ROWS, 0)


def in_use(
    indices: np.ndarray, values: np.ndarray, keys: np.ndarray, hash_bits: int, n_labels: int, seen: np.ndarray | None
) -> ChainWeights:
    """The non-zero ones of R feature rows.

    Args:
        indices: int64, ascending, and values: float64, the weights that are not zero among L·L + R·L as `Chains` lays
            them out.
        keys: uint64 [R], in any order.
        seen: uint8 [R] or None.
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
    model: Model, weights: ChainWeights, labels: Sequence[str], packing: Packing = EXACT, saved: Saved | None = None
) -> None:
    """Store the weights in the model as sparse rows; rows without a weight are left out, except frequent ones.

    Args:
        labels: L names; the digest covers them, and the model's attributes, too.
        packing: of the rows; transitions are always exact.
        saved: the file from which training has started.

    Raises:
        ValueError: a weight is not finite, or too large to be loaded.
    """
    n_labels = len(weights.transitions)
    weights, earlier = (weights, None) if saved is None else _side_by_side(weights, saved)
    layers = layered(indices_of(weights.rows, n_labels), weights.rows.values, packing, earlier)
    is_frequent = np.zeros(len(weights.keys), np.bool_) if weights.seen is None else weights.seen >= FREQUENT
    arrays, used = _packed("", weights.keys, layers, weights.transitions, is_frequent)
    arrays[SEEN] = pack_numbers(None if weights.seen is None else weights.seen[used])
    is_exact = packing == EXACT and (earlier is None or earlier.are_exact)
    if reads_first_pass(model):
        if saved is not None and (packing == EXACT or not saved.are_exact):
            arrays |= {name: saved.arrays[name] for name in FIRST_PASS_TYPES}
        else:
            arrays |= _packed_first_pass(no_weights(0) if weights.first_pass is None else weights.first_pass, packing)
    model.attrs.pop(NAMES, None)
    if weights.names is not None:
        model.attrs[NAMES] = pack_names([weights.names[number] for number in used.tolist()])
    store_arrays(model, arrays, [len(labels), weights.hash_bits], labels, is_exact, FORMAT)


def load(model: Model, labels: Sequence[str]) -> ChainWeights:
    """Take the weights out of the model, every shape and index checked.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    n_labels = len(labels)
    has_first_pass = reads_first_pass(model)
    types = {**TYPES, **FIRST_PASS_TYPES} if has_first_pass else TYPES
    arrays, (width, bits) = load_arrays(model, types, 2, labels, FORMAT)
    require(width == n_labels, f"it has weights for {width} labels, but the component has {n_labels}")
    require(0 <= bits <= MAX_HASH_BITS, "its hash size is out of range")
    weights = _unpacked("", arrays, n_labels, bits)
    n_rows = len(weights.keys)
    names = unpack_names(model.attrs[NAMES], n_rows) if NAMES in model.attrs else None
    seen = unpack_numbers(arrays[SEEN], n_rows)
    first_pass = None
    if has_first_pass:
        n_first = len(_transitions(arrays[f"{FIRST_PASS}transitions"], n_labels))
        first_pass = _unpacked(FIRST_PASS, arrays, n_first, 0) if n_first else None
    return weights._replace(seen=seen, names=names, first_pass=first_pass)


def reads_first_pass(model: Model) -> bool:
    """Whether this is the model of a chain, and a template reads the labels of a first pass."""
    return model.name == ChainSpace.structure and any(
        reads(template, DOCUMENT_LABEL) for template in parse_templates(model.attrs["templates"])
    )


def _side_by_side(weights: ChainWeights, saved: Saved) -> tuple[ChainWeights, SavedLayers]:
    """The weights with the rows of the file, too, which are empty, and the layers of the file at the same rows."""
    _, _, n_before, bits = saved.arrays[SHAPE].tolist()
    before = _keys("", saved.arrays, bits)
    keys = before if np.array_equal(weights.keys, before) else np.union1d(weights.keys, before)
    own, of_file = np.searchsorted(keys, weights.keys), np.searchsorted(keys, before)

    def moved(indices: np.ndarray) -> np.ndarray:
        row, label = np.divmod(indices, max(n_before, 1))
        return of_file[row] * len(weights.transitions) + label

    seen = names = None
    if weights.seen is not None:
        counts = unpack_numbers(saved.arrays[SEEN], len(before))
        seen = np.zeros(len(keys), np.uint8)
        seen[of_file] = 0 if counts is None else counts
        seen[own] = weights.seen
    if weights.names is not None:
        by_key = dict(zip(own.tolist(), weights.names))
        names = tuple(by_key.get(place, "") for place in range(len(keys)))
    layers = _layers(saved.arrays, len(before) * n_before).moved(moved)
    together = weights._replace(keys=keys, rows=_at_places(weights.rows, own, len(keys)), seen=seen, names=names)
    return together, SavedLayers(layers, saved.are_exact, saved.are_corrected)


def _packed(
    prefix: str, keys: np.ndarray, layers: Layers, transitions: np.ndarray, stays: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The arrays of transitions and rows, and the rows that have a weight in one of the layers, or stay without, int64.

    Args:
        stays: bool [R].
    """
    require_savable(transitions)
    n_labels = len(transitions)
    is_used = stays.copy()
    for part in layers:
        is_used[part.indices // max(n_labels, 1)] = True
    used, places = np.flatnonzero(is_used), np.cumsum(is_used) - 1

    def moved(indices: np.ndarray) -> np.ndarray:
        row = indices // max(n_labels, 1)
        return indices + (places[row] - row) * n_labels

    layers = layers.moved(moved)
    arrays = {
        f"{prefix}keys": pack_indices(keys[used]),
        **pack(prefix, layers.base),
        **pack_corrected(prefix, layers.corrected),
        f"{prefix}transitions": deflated(transitions.ravel() if transitions.any() else transitions[:0].ravel()),
    }
    return arrays, used


def _packed_first_pass(weights: ChainWeights, packing: Packing) -> dict[str, np.ndarray]:
    """The arrays of FIRST_PASS_TYPES: nothing corrects these weights."""
    sparse = compress(indices_of(weights.rows, len(weights.transitions)), weights.rows.values, packing)
    stays = np.zeros(len(weights.keys), np.bool_)
    arrays, _ = _packed(FIRST_PASS, weights.keys, Layers(sparse, NO_ENTRIES), weights.transitions, stays)
    return {name: arrays[name] for name in FIRST_PASS_TYPES}


def _keys(prefix: str, arrays: Mapping[str, np.ndarray], bits: int) -> np.ndarray:
    return unpack_indices(arrays[f"{prefix}keys"], (1 << (bits or KEY_BITS)) + 1).astype(np.uint64)


def _layers(arrays: Mapping[str, np.ndarray], length: int) -> Layers:
    return Layers(unpack_sparse("", arrays, length), unpack_corrected("", arrays, length))


def _unpacked(prefix: str, arrays: Mapping[str, np.ndarray], n_labels: int, bits: int) -> ChainWeights:
    """The weights in the arrays of `_packed`.

    Raises:
        DamagedModel: an array is of a wrong shape or range.
    """
    transitions = _transitions(arrays[f"{prefix}transitions"], n_labels)
    require(len(transitions) in (n_labels, 0), "its transitions do not fit its labels")
    keys = _keys(prefix, arrays, bits)
    require(not len(keys) or int(keys[0]) > 0, "a feature key is out of range")
    length = len(keys) * n_labels
    layers = Layers(unpack_sparse(prefix, arrays, length), NO_ENTRIES) if prefix else _layers(arrays, length)
    indices, values = whole(layers)
    require_weights(values)
    transitions = transitions if len(transitions) else np.zeros((n_labels, n_labels), np.float32)
    rows = sparse_rows(indices, values, len(keys), n_labels)
    return ChainWeights(keys, transitions, rows, bits)


def _transitions(stored: np.ndarray, max_labels: int) -> np.ndarray:
    """The transitions in an array of `_packed`, float32 [L, L]; L is 0 if they are all 0.

    Raises:
        DamagedModel: the array is damaged, or it has transitions of more than max_labels labels.
    """
    flat = inflated(stored, {4: "<f4"}, max_labels * max_labels)
    n_labels = math.isqrt(len(flat))
    require(n_labels * n_labels == len(flat), "its transitions do not fit its labels")
    require_weights(flat)
    return flat.reshape(n_labels, n_labels)


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
    """Weights with zeros for labels that have been appended, up to n_labels."""
    more = n_labels - len(weights.transitions)
    if not more:
        return weights
    return weights._replace(transitions=np.pad(weights.transitions, ((0, more), (0, more))))


def spread(weights: ChainWeights) -> ChainWeights:
    """Hashed rows at their places among all 2ᵇ, with zeros elsewhere, without names."""
    places, n_rows = weights.keys.astype(np.int64) - 1, 1 << weights.hash_bits
    seen, keys = np.zeros(n_rows, np.uint8), np.arange(1, n_rows + 1, dtype=np.uint64)
    seen[places] = 0 if weights.seen is None else weights.seen
    return weights._replace(keys=keys, rows=_at_places(weights.rows, places, n_rows), seen=seen, names=None)


def _at_places(rows: SparseRows, places: np.ndarray, n_rows: int) -> SparseRows:
    """These rows at ascending places, int64, among n_rows; the others are empty."""
    sizes = np.zeros(n_rows, np.int64)
    sizes[places] = np.diff(rows.starts)
    return rows._replace(starts=np.concatenate([[0], np.cumsum(sizes)]))
