"""The weights of a parser in a model file: the non-zero ones, of the trees and of the first pass."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from thinc.api import Model

from ..layers import CORRECTED_TYPES, NO_ENTRIES, Layers, SavedLayers, layered, pack_corrected, unpack_corrected
from ..packing import (
    EXACT,
    MASKED_TYPES,
    Masked,
    Packing,
    masked,
    pack_bits,
    pack_masked,
    pack_numbers,
    unpack_masked,
    unpack_sparse,
)
from ..store import SHAPE, Saved, load_arrays, require, store_arrays

FORMAT = 7
"""The format of parsers."""

FIRST_PASS = "first_pass_"

PREFIXES = ("", FIRST_PASS)

SEEN = "seen"

UNKNOWN_COUNTS = pack_numbers(None)

_VECTOR_TYPES = {**MASKED_TYPES, **CORRECTED_TYPES}

TYPES = {f"{prefix}{name}": types for prefix in PREFIXES for name, types in _VECTOR_TYPES.items()} | {SEEN: (np.uint8,)}


class TreeWeights(NamedTuple):
    """The weights to predict with, as `Trees` lays them out.

    Attributes:
        trees: of 2^arc_bits + 2^label_bits · L weights.
        first_pass: float32 [2^first_pass_bits], or empty: no pruning.
        seen: as `pack_numbers` packs it, since only training reads it: uint8 [2^arc_bits + 2^label_bits], log₂(1 + n),
            rounded, of how often each row was seen in the gold trees of training; None if unknown.
    """

    trees: Masked
    first_pass: np.ndarray
    seen: np.ndarray = UNKNOWN_COUNTS

    def size(self) -> tuple[int, int]:
        """The number of non-zero weights, and of all weights."""
        n_used, n = self.trees.size()
        return n_used + int(np.count_nonzero(self.first_pass)), n + len(self.first_pass)


def store(
    model: Model, weights: TreeWeights, labels: Sequence[str], packing: Packing = EXACT, saved: Saved | None = None
) -> None:
    """Store the weights in the model.

    Args:
        labels: L names, which the digest covers, too.
        packing: of the trees' weights. The first pass has few weights, which limit the possible trees: they are rounded
            but not pruned.
        saved: the file from which training has started.

    Raises:
        ValueError: a weight is not finite, or too large to be loaded.
    """
    trees, first_pass = weights.trees, masked(weights.first_pass)
    rounding = Packing(packing.weight_dtype)
    if saved is None:
        arrays = pack_masked("", trees, packing) | pack_masked(FIRST_PASS, first_pass, rounding)
        for prefix in PREFIXES:
            arrays |= pack_corrected(prefix, NO_ENTRIES)
    else:
        arrays = _layered("", trees, packing, _earlier("", saved, trees.length, len(labels)))
        # Nothing but corrections changes a first pass.
        earlier = _earlier(FIRST_PASS, saved, first_pass.length, len(labels))._replace(are_corrected=True)
        arrays |= _layered(FIRST_PASS, first_pass, rounding, earlier)
    arrays[SEEN] = weights.seen
    is_exact = packing == EXACT and (saved is None or saved.are_exact)
    store_arrays(model, arrays, [len(labels), trees.length, first_pass.length], labels, is_exact, FORMAT)


def _layered(prefix: str, vector: Masked, packing: Packing, earlier: SavedLayers) -> dict[str, np.ndarray]:
    layers = layered(vector.indices(), vector.values, packing, earlier)
    return pack_bits(prefix, layers.base, vector.length) | pack_corrected(prefix, layers.corrected)


def _earlier(prefix: str, saved: Saved, length: int, n_labels: int) -> SavedLayers:
    """The layers of a file, at the indices of a vector of this length, with so many labels."""
    _, _, n_before, *lengths = saved.arrays[SHAPE].tolist()
    before = lengths[PREFIXES.index(prefix)]
    layers = Layers(unpack_sparse(prefix, saved.arrays, before), unpack_corrected(prefix, saved.arrays, before))
    if length != before:
        n_arcs = before - (length - before) // (n_labels - n_before) * n_before
        layers = layers.moved(lambda indices: _widened(indices, n_arcs, n_before, n_labels))
    return SavedLayers(layers, saved.are_exact, saved.are_corrected)


def _widened(indices: np.ndarray, n_arcs: int, n_before: int, n_after: int) -> np.ndarray:
    """The indices of the same weights once there are more labels."""
    row, label = np.divmod(indices - n_arcs, max(n_before, 1))
    return np.where(indices < n_arcs, indices, n_arcs + row * n_after + label)


def load(model: Model, labels: Sequence[str], n_weights: int, first_pass_sizes: Collection[int]) -> TreeWeights:
    """Read the weights from the model, and check all shapes and indices.

    Args:
        n_weights: the required length of the trees' vector.
        first_pass_sizes: the possible lengths of the other one.

    Raises:
        DamagedModel: the digest does not match, or an array is of a wrong type, shape or range.
    """
    arrays, (width, *lengths) = load_arrays(model, TYPES, 3, labels, FORMAT)
    require(width == len(labels), f"it has weights for {width} labels, but the component has {len(labels)}")
    require(lengths[0] == n_weights, f"it has {lengths[0]:,} weights where the features have {n_weights:,}")
    require(lengths[1] in first_pass_sizes, "its first pass is of a wrong size")
    trees, first_pass = (_unpacked(prefix, arrays, length) for prefix, length in zip(PREFIXES, lengths))
    return TreeWeights(trees, first_pass.dense(), arrays[SEEN])


def _unpacked(prefix: str, arrays: Mapping[str, np.ndarray], length: int) -> Masked:
    vector, corrected = unpack_masked(prefix, arrays, length), unpack_corrected(prefix, arrays, length)
    if not len(corrected.indices):
        return vector
    dense = vector.dense()
    dense[corrected.indices] = corrected.values
    return masked(dense)


def widen(weights: TreeWeights, n_arcs: int, n_rows: int, n_labels: int) -> TreeWeights:
    """Weights with zeros for labels that have been appended, up to n_labels.

    Args:
        n_arcs: the number of weights before the blocks of labels.
        n_rows: the number of these blocks.
    """
    if weights.trees.length == n_arcs + n_rows * n_labels:
        return weights
    trees = weights.trees.dense()
    of_labels = trees[n_arcs:].reshape(n_rows, -1)
    wider = np.pad(of_labels, ((0, 0), (0, n_labels - of_labels.shape[1])))
    return weights._replace(trees=masked(np.concatenate([trees[:n_arcs], wider.ravel()])))
