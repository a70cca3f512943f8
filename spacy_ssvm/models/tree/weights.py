"""The weights of a parser in a model file: those that are not zero, of the trees and of the first pass."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from thinc.api import Model

from ..packing import (
    EXACT,
    MASKED_TYPES,
    Masked,
    Packing,
    masked,
    pack_masked,
    pack_numbers,
    unpack_masked,
)
from ..store import load_arrays, require, store_arrays

PREFIXES = ("", "first_pass_")

SEEN = "seen"

UNKNOWN_COUNTS = pack_numbers(None)

TYPES = {f"{prefix}{name}": types for prefix in PREFIXES for name, types in MASKED_TYPES.items()} | {SEEN: (np.uint8,)}


class TreeWeights(NamedTuple):
    """The weights to predict with, as `Trees` lays them out.

    trees: of 2^arc_bits + 2^label_bits · L weights. first_pass: float32 [2^first_pass_bits], or empty: no pruning.
    seen: as `pack_numbers` packs it, since only training reads it: uint8 [2^arc_bits + 2^label_bits], log₂(1 + n),
    rounded, of how often each row was seen in the gold trees of training; None if unknown.
    """

    trees: Masked
    first_pass: np.ndarray
    seen: np.ndarray = UNKNOWN_COUNTS


def store(
    model: Model, weights: TreeWeights, labels: Sequence[str], packing: Packing = EXACT, exact: bool = True
) -> None:
    """Store the weights in the model.

    labels: L names, which the digest covers, too. packing: that of the trees' weights; those of the first pass, which
    are few and decide which trees are possible, are rounded but not pruned. exact: whether the weights are as learnt.
    """
    arrays: dict[str, np.ndarray] = {}
    vectors = weights.trees, masked(weights.first_pass)
    for prefix, vector, keep in zip(PREFIXES, vectors, (packing.keep_fraction, 1.0)):
        arrays |= pack_masked(prefix, vector, Packing(packing.weight_dtype, keep))
    arrays[SEEN] = weights.seen
    lengths = [vector.length for vector in vectors]
    store_arrays(model, arrays, [len(labels), *lengths], labels, exact and packing == EXACT)


def load(model: Model, labels: Sequence[str], n_weights: int, first_pass_sizes: Collection[int]) -> TreeWeights:
    """Read the weights from the model, and check all shapes and indices.

    n_weights: the required length of the trees' vector. first_pass_sizes: the possible lengths of the other one.

    Raises:
        DamagedModel: the digest does not match, or an array is of a wrong type, shape or range.
    """
    arrays, (width, *lengths) = load_arrays(model, TYPES, 3, labels, added=[SEEN])
    require(width == len(labels), f"it has weights for {width} labels, but the component has {len(labels)}")
    require(lengths[0] == n_weights, f"it has {lengths[0]:,} weights where the features have {n_weights:,}")
    require(lengths[1] in first_pass_sizes, "its first pass is of a wrong size")
    trees, first_pass = (unpack_masked(prefix, arrays, length) for prefix, length in zip(PREFIXES, lengths))
    return TreeWeights(trees, first_pass.dense(), arrays.get(SEEN, UNKNOWN_COUNTS))


def widen(weights: TreeWeights, n_arcs: int, n_before: int, n_after: int) -> TreeWeights:
    """The same weights with zeros for appended labels, whose number grows from n_before to n_after.

    n_arcs: the number of weights before the blocks of labels.
    """
    trees = weights.trees.dense()
    wider = np.pad(trees[n_arcs:].reshape(-1, n_before), ((0, 0), (0, n_after - n_before)))
    return weights._replace(trees=masked(np.concatenate([trees[:n_arcs], wider.ravel()])))
