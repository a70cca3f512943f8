"""What a tree is scored by: the candidate arcs of one sentence, and pairs of them."""

from typing import Any, NamedTuple

import numpy as np
from numba.core import types

FORBIDDEN = -1e30
"""Score of an arc that is no candidate. Finite: where no tree keeps to the candidates, the best breaks the fewest."""
NONE = -1


class Parts(NamedTuple):
    """A arcs of a sentence of n tokens, with scores, and their pairs.

    Arcs are numbered by modifier, then by head. The score of a tree is the sum over its arcs (h, m), over its
    siblings and over its grandparents. Siblings: each arc a = (h, m) with its inner neighbour, the arc (h, s) to the
    child of h next to m on its way to h, on the same side, or with NONE where m is the first child on its side.
    Grandparents: each arc (h, m), h ≠ 0, with the arc (g, h). Pairs that are not listed score 0.

    number: int32 [n + 1, n + 1], the arc from head to modifier, or NONE.
    heads, modifiers: int32 [A].
    scores: float64 [A].
    sibling_starts: int64 [A + 1], first pair of each arc a with an inner neighbour.
    siblings: int32 [S], the inner arc or NONE, ascending for each a.
    sibling_scores: float64 [S].
    grand_starts: int64 [A + 1], first pair of each arc (h, m) with an arc (g, h).
    grands: int32 [G], the arc (g, h), ascending for each (h, m).
    grand_scores: float64 [G].
    """

    number: np.ndarray
    heads: np.ndarray
    modifiers: np.ndarray
    scores: np.ndarray
    sibling_starts: np.ndarray
    siblings: np.ndarray
    sibling_scores: np.ndarray
    grand_starts: np.ndarray
    grands: np.ndarray
    grand_scores: np.ndarray


def _array(dtype: Any, ndim: int = 1) -> Any:
    return types.Array(dtype, ndim, "C")


PARTS = types.NamedTuple(
    [
        _array(types.int32, 2),
        _array(types.int32),
        _array(types.int32),
        _array(types.float64),
        _array(types.int64),
        _array(types.int32),
        _array(types.float64),
        _array(types.int64),
        _array(types.int32),
        _array(types.float64),
    ],
    Parts,
)
"""The numba type of `Parts`."""
DECODER = types.float64(PARTS, types.boolean, _array(types.int32))
"""The numba signature of what finds the best tree of `Parts`."""
