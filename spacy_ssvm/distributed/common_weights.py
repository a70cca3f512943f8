"""The weights of all blocks together, and the places of each block's weights among them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..features.hashing import ABSENT
from ..models.growing import exponents
from ..solvers.sparse import MAX_DIMENSION, SparseVector
from .messages import Layout


def check_dimension(component: str, dimension: int) -> None:
    """Check that messages can number the weights.

    Raises:
        ValueError: there are too many.
    """
    if dimension > MAX_DIMENSION:
        raise ValueError(
            f"[{component}] has {dimension:,} weights, the number of features times that of labels: several workers "
            f"learn {MAX_DIMENSION:,} at most. Name fewer templates, or use `spacy train`"
        )


class Common(NamedTuple):
    """The weights of all blocks, by row.

    Attributes:
        keys: uint64 [R], of the features of any block, ascending; empty if all blocks have the same weights.
        seen: as `Sharded.of_rows`, of all blocks.
        rows: for each block, the number of each of its rows among these, int64.
        first and width: as in `Rows`.
        dimension: d.
    """

    keys: np.ndarray
    seen: np.ndarray
    rows: list[np.ndarray]
    first: int
    width: int
    dimension: int

    def whole(self, block: int, part: SparseVector) -> SparseVector:
        """A block's vector among all weights; its indices are not in order."""
        if not len(self.keys):
            return part
        return self.moved(part, self.rows[block])

    def part(self, block: int, whole: SparseVector) -> SparseVector:
        """A block's part of a vector of all weights; its indices are not in order."""
        if not len(self.keys):
            return whole
        numbers = np.full(len(self.keys), ABSENT)
        numbers[self.rows[block]] = np.arange(len(self.rows[block]))
        return self.moved(whole, numbers)

    def moved(self, vector: SparseVector, numbers: np.ndarray) -> SparseVector:
        """The vector with other numbers of its rows, int64, without rows that are ABSENT."""
        row, place = np.divmod(vector.indices.astype(np.int64) - self.first, self.width)
        new = numbers[np.maximum(row, 0)]
        indices = np.where(row < 0, vector.indices, self.first + self.width * new + place).astype(np.int32)
        kept = (row < 0) | (new != ABSENT)
        return SparseVector(indices[kept], vector.values[kept])


def common(layouts: Sequence[Layout]) -> Common:
    """The weights of blocks with these layouts: the same for the same features, however they are divided."""
    first, width, dimension = layouts[0].first, layouts[0].width, layouts[0].dimension
    if not len(layouts[0].keys):
        counts = np.sum([layout.counts for layout in layouts], axis=0)
        return Common(layouts[0].keys, exponents(counts, None), [], first, width, dimension)
    keys = np.unique(np.concatenate([layout.keys for layout in layouts]))
    rows = [np.searchsorted(keys, layout.keys) for layout in layouts]
    counts = np.zeros(len(keys), np.int64)
    for its_rows, layout in zip(rows, layouts):
        counts[its_rows] += layout.counts
    return Common(keys, exponents(counts, None), rows, first, width, first + width * len(keys))
