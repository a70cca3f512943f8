"""The weights of all blocks together, and where those of each block lie among them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..models import frequency
from ..solvers.sparse import Sparse
from .messages import Layout

ABSENT = -1


class Common(NamedTuple):
    """The weights of all blocks, by row.

    keys: uint64 [R], of the features of any block, ascending; seen: uint8 [R]. rows: for each block, the number of each
    of its rows among these, int64. first, width: as in `Rows`. dimension: d.
    """

    keys: np.ndarray
    seen: np.ndarray
    rows: list[np.ndarray]
    first: int
    width: int
    dimension: int

    def whole(self, block: int, part: Sparse) -> Sparse:
        """A block's vector among all weights; its indices are not in order."""
        if not len(self.keys):
            return part
        return self._moved(part, self.rows[block])

    def part(self, block: int, whole: Sparse) -> Sparse:
        """What a block has of a vector of all weights; its indices are not in order."""
        if not len(self.keys):
            return whole
        numbers = np.full(len(self.keys), ABSENT)
        numbers[self.rows[block]] = np.arange(len(self.rows[block]))
        return self._moved(whole, numbers)

    def _moved(self, vector: Sparse, numbers: np.ndarray) -> Sparse:
        """The vector with other numbers of its rows, int64, without those that are ABSENT."""
        row, place = np.divmod(vector.indices.astype(np.int64) - self.first, self.width)
        new = numbers[np.maximum(row, 0)]
        indices = np.where(row < 0, vector.indices, self.first + self.width * new + place).astype(np.int32)
        kept = (row < 0) | (new != ABSENT)
        return Sparse(indices[kept], vector.values[kept])


def common(layouts: Sequence[Layout]) -> Common:
    """The weights of blocks with these layouts: the same for the same features, however they are divided."""
    first, width = layouts[0].first, layouts[0].width
    if not len(layouts[0].keys):
        seen = _sum_of_seen(len(layouts[0].seen), [(slice(None), layout.seen) for layout in layouts])
        return Common(layouts[0].keys, seen, [layout.keys for layout in layouts], first, width, layouts[0].dimension)
    keys = np.unique(np.concatenate([layout.keys for layout in layouts]))
    rows = [np.searchsorted(keys, layout.keys) for layout in layouts]
    seen = _sum_of_seen(len(keys), list(zip(rows, [layout.seen for layout in layouts])))
    return Common(keys, seen, rows, first, width, first + width * len(keys))


def _sum_of_seen(n_rows: int, parts: Sequence[tuple[Any, np.ndarray]]) -> np.ndarray:
    counts = np.zeros(n_rows)
    for rows, seen in parts:
        counts[rows] += np.exp2(seen.astype(np.float64)) - 1.0
    return frequency.exponents(counts, None)
