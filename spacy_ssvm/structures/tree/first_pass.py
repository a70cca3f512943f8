"""The first pass: a cheap ranking of heads that leaves each token few of them."""

from dataclasses import dataclass

import numpy as np

from ...features.arc_hashing import ArcProgram
from ...features.hashing import Columns
from .candidates import near_candidates, prune
from .data import INDEPENDENT, NOT_GIVEN, Shape, Trees

BITS = 18


@dataclass(frozen=True)
class FirstPass:
    """Heads of a token are kept when they are among its best and score not far below its very best.

    program: its templates. weights: float64 or float32 [2^BITS]; empty: the heads within REACH are kept.
    most: how many a token keeps at most. margin: how far below the best they may score.
    """

    program: ArcProgram
    weights: np.ndarray
    most: int
    margin: float

    def candidates(self, columns: Columns, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Candidate starts int64 [T + 1] and candidates int32; `needed` int32 [T] are kept in any case (-1 for none).

        So is the token before, so that every token can be reached from the root.
        """
        if not len(self.weights):
            return near_candidates(columns.starts, needed)
        return prune(columns, self.program, BITS, self.weights, self.most, self.margin, needed)


def ranking(program: ArcProgram, columns: Columns, heads: np.ndarray) -> Trees:
    """The first pass's training data: each token's gold head, int32 [T], is to be ranked above all others.

    Where the head is NOT_GIVEN there is nothing to choose, and so nothing to learn.
    """
    unknown = heads == NOT_GIVEN
    before = np.arange(len(heads)) - np.repeat(columns.starts[:-1], np.diff(columns.starts))
    gold = np.where(unknown, before, heads).astype(np.int32)
    return Trees(
        columns,
        program,
        *near_candidates(columns.starts, gold, unknown),
        gold,
        np.zeros(len(heads), np.int32),
        np.ones(len(heads)),
        np.zeros(len(heads)),
        Shape(0, BITS, 0, INDEPENDENT, True),
    )
