"""The first pass: a cheap log-linear model of heads that leaves each token few of them."""

from dataclasses import dataclass

import numpy as np

from ...features.arc_hashing import ArcProgram
from ...features.hashing import Columns
from .candidates import near_candidates, prune

BITS = 18


@dataclass(frozen=True)
class FirstPass:
    """Heads of a token are kept when they are among its most probable and not much less so than its very best.

    program: its templates. weights: float64 or float32 [2^BITS]; empty: the heads within REACH are kept.
    most: how many a token keeps at most. margin: how far below the best their log-probability may be.
    """

    program: ArcProgram
    weights: np.ndarray
    max_heads: int
    margin: float

    def candidates(self, columns: Columns, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Candidate starts int64 [T + 1] and candidates int32; `needed` int32 [T] are kept in any case (-1 for none).

        So is the token before, so that every token can be reached from the root.
        """
        if not len(self.weights):
            return near_candidates(columns.starts, needed)
        return prune(columns, self.program, BITS, self.weights, self.max_heads, self.margin, needed)
