"""The weights of all blocks together, and where those of each block lie among them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..models import frequency
from .messages import Layout


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

    def places(self, block: int, indices: np.ndarray) -> np.ndarray:
        """The numbers among all weights of a block's weights with these numbers, int64."""
        if not len(self.keys):
            return indices
        row, place = np.divmod(indices.astype(np.int64) - self.first, self.width)
        of_rows = self.first + self.width * self.rows[block][np.maximum(row, 0)] + place
        return np.where(row < 0, indices, of_rows)

    def part(self, block: int, vector: np.ndarray) -> np.ndarray:
        """A block's weights of a vector, float64 [d]."""
        if not len(self.keys):
            return vector
        rows = vector[self.first :].reshape(-1, self.width)[self.rows[block]]
        return np.concatenate([vector[: self.first], rows.ravel()])


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
