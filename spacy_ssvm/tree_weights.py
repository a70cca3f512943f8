"""The weights of a parser in a model file: those that are not zero, of the trees and of the first pass."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from thinc.api import Model

from .model import load_arrays, require, store_arrays

TYPES = {
    "indices": np.int32,
    "values": np.float32,
    "first_pass_indices": np.int32,
    "first_pass_values": np.float32,
}


class TreeWeights(NamedTuple):
    """The weights to predict with, as `Trees` lays them out.

    trees: float32 [2^arc_bits + 2^label_bits · L]. first_pass: float32 [2^first_pass_bits], or empty: no pruning.
    """

    trees: np.ndarray
    first_pass: np.ndarray


def store(model: Model, weights: TreeWeights, labels: Sequence[str]) -> None:
    """Put the weights into the model; labels: L names, which the digest covers too."""
    arrays = {}
    for prefix, dense in (("", weights.trees), ("first_pass_", weights.first_pass)):
        used = np.flatnonzero(dense)
        arrays[f"{prefix}indices"] = used.astype(np.int32)
        arrays[f"{prefix}values"] = dense[used].astype(np.float32)
    store_arrays(model, arrays, [len(labels), len(weights.trees), len(weights.first_pass)], labels)


def load(model: Model, labels: Sequence[str], n_weights: int, n_first_pass: int) -> TreeWeights:
    """Take the weights out of the model, every shape and index checked.

    n_weights, n_first_pass: how long the two vectors must be; the second may be empty as well.

    Raises:
        DamagedModel: the digest does not fit, or an array is of a wrong type, shape or range.
    """
    arrays, (width, *lengths) = load_arrays(model, TYPES, 3, labels)
    require(width == len(labels), f"it has weights for {width} labels, but the component has {len(labels)}")
    require(lengths[0] == n_weights, f"it has {lengths[0]:,} weights where the features have {n_weights:,}")
    require(lengths[1] in (0, n_first_pass), "its first pass is of a wrong size")
    dense = []
    for prefix, length in zip(("", "first_pass_"), lengths):
        indices, values = arrays[f"{prefix}indices"], arrays[f"{prefix}values"]
        require(indices.shape == values.shape == (len(indices),), "its weights are of a wrong shape")
        require(
            not len(indices) or bool(indices[0] >= 0 and indices[-1] < length and (np.diff(indices) > 0).all()),
            "an index is out of range or order",
        )
        require(bool(np.isfinite(values).all()), "a weight is not finite")
        whole = np.zeros(length, np.float32)
        whole[indices] = values
        dense.append(whole)
    return TreeWeights(dense[0], dense[1])


def widen(weights: TreeWeights, n_arcs: int, n_before: int, n_after: int) -> TreeWeights:
    """The same weights with zeros for labels that have been appended: n_before of them become n_after.

    n_arcs: how many weights come before the blocks of labels.
    """
    blocks = weights.trees[n_arcs:].reshape(-1, n_before)
    wider = np.pad(blocks, ((0, 0), (0, n_after - n_before)))
    return weights._replace(trees=np.concatenate([weights.trees[:n_arcs], wider.ravel()]))
