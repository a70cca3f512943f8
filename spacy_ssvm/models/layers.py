"""A sparse vector in a model file, in two layers: the trained weights, packed once, and later corrections.

A packing prunes and rounds the trained weights. Corrections set weights of all sizes, and each of them may decide a
prediction. So they are stored separately, in single precision, and the packed weights do not change, however often the
file is loaded, corrected and saved.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..features.index import places_in
from .packing import EXACT, PART_TYPES, Packing, Sparse, compress, expanded, pack, unpack
from .store import require_savable

CORRECTED = "corrected_"
"""The prefix of PART_TYPES in the names of a corrected layer's arrays."""

CORRECTED_TYPES = {CORRECTED + name: types for name, types in PART_TYPES.items()}


class Layers(NamedTuple):
    """base: the trained weights, packed. corrected: weights that replace some of them, exact, and maybe 0."""

    base: Sparse
    corrected: Sparse

    def moved(self, places: Callable[[np.ndarray], np.ndarray]) -> "Layers":
        """Layers with the same entries at other indices, in the same order."""
        return Layers(*(part._replace(indices=places(part.indices)) for part in self))


class SavedLayers(NamedTuple):
    """The layers of the file from which training has started.

    Attributes:
        are_exact: whether the base is neither pruned nor rounded.
        are_corrected: whether training has been corrections, so that all other weights stay the same.
    """

    layers: Layers
    are_exact: bool
    are_corrected: bool


def exact(indices: np.ndarray, weights: np.ndarray) -> Sparse:
    """A layer of these entries, int64 [n], ascending, and float32 [n]."""
    return Sparse(indices, weights, np.zeros(0, np.float32))


NO_ENTRIES = exact(np.zeros(0, np.int64), np.zeros(0, np.float32))


def layered(indices: np.ndarray, weights: np.ndarray, packing: Packing, earlier: SavedLayers | None = None) -> Layers:
    """The layers of a vector that is to be saved with a packing.

    Args:
        indices: int64 [n], ascending, and weights: float32 [n], of the entries that are not zero.
        earlier: at the same indices; None if training has started from zero. Entries that were pruned or corrected
            before are not pruned.

    Raises:
        ValueError: a weight is not finite, or too large to be loaded.
    """
    if earlier is None:
        return Layers(compress(indices, weights, packing), NO_ENTRIES)
    require_savable(weights)
    before = earlier.layers
    if earlier.are_corrected:
        started = expanded(before.base)
        corrected = _differing(indices, weights, before.base.indices, started)
        is_packed = packing == EXACT or not earlier.are_exact
        return Layers(before.base if is_packed else compress(before.base.indices, started, packing), corrected)
    kept = before.corrected.indices if earlier.are_exact else whole(before)[0]
    base = compress(indices, weights, packing, np.isin(indices, kept, assume_unique=True))
    places = before.corrected.indices
    return Layers(base, exact(places, _values_at(indices, weights, places)))


def whole(layers: Layers) -> tuple[np.ndarray, np.ndarray]:
    """The vector: indices int64 [n], ascending, and weights float32 [n]."""
    base, corrected = layers
    weights = expanded(base)
    if not len(corrected.indices):
        return base.indices, weights
    stays = ~np.isin(base.indices, corrected.indices, assume_unique=True)
    return _sorted([base.indices[stays], corrected.indices], [weights[stays], corrected.values])


def pack_corrected(prefix: str, corrected: Sparse) -> dict[str, np.ndarray]:
    """A corrected layer as arrays for a model file, named by prefix, CORRECTED and a key of PART_TYPES."""
    return pack(prefix + CORRECTED, corrected)


def unpack_corrected(prefix: str, arrays: Mapping[str, np.ndarray], length: int) -> Sparse:
    """The layer that `pack_corrected` has packed.

    Raises:
        DamagedModel: an array is damaged, an index out of range, or a weight not finite.
    """
    return exact(*unpack(prefix + CORRECTED, arrays, length))


def _differing(indices: np.ndarray, weights: np.ndarray, of_base: np.ndarray, base: np.ndarray) -> Sparse:
    """The entries that differ from the base's; of_base: the base's indices."""
    changed = weights != _values_at(of_base, base, indices)
    gone = (_values_at(indices, weights, of_base) == 0) & (base != 0)
    zeros = np.zeros(int(np.count_nonzero(gone)), np.float32)
    return exact(*_sorted([indices[changed], of_base[gone]], [weights[changed], zeros]))


def _values_at(indices: np.ndarray, weights: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The entries of a vector at these places, int64 [m]: float32 [m], 0 where it has none."""
    if np.array_equal(indices, places):
        return weights
    return np.append(weights, np.float32(0))[places_in(indices, places)]


def _sorted(indices: list[np.ndarray], weights: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Entries in the order of their indices."""
    together = np.concatenate(indices)
    order = np.argsort(together, kind="stable")
    return together[order], np.concatenate(weights)[order]
