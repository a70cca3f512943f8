"""Which heads a token may have: all that are near, or those that a cheap first pass leaves."""

from dataclasses import dataclass

import numpy as np

from ...features.arc_hashing import ARCS, ARCS_BETWEEN, ArcProgram, read_sentence
from ...features.hashing import Columns
from ...kernels import kernel
from ...structures.tree.parts import UNKNOWN
from .data import either_precision
from .scores import describe_arc, feature_room, score_between, score_features

REACH = 100
"""How far a head may be where no first pass has been trained; the root is always near."""


@kernel
def _near_candidates(starts, needed, alone, candidate_starts, candidates):
    at = 0
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        for m in range(1, n + 1):
            token = starts[sentence] + m - 1
            for h in range(n + 1):
                near = h == 0 or abs(h - m) <= REACH
                if h != m and (h == needed[token] or (h == m - 1 if alone[token] else near)):
                    if len(candidates):
                        candidates[at] = h
                    at += 1
            candidate_starts[token + 1] = at
    return at


def near_candidates(
    starts: np.ndarray, needed: np.ndarray, alone: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Every arc within REACH, and those from the root.

    starts: int64 [n + 1], of sentences. needed: int32 [T], a head that is a candidate in any case, or UNKNOWN.
    alone: bool [T], tokens with the token before as their only candidate; none by default.
    Returns candidate starts int64 [T + 1] and candidates int32.
    """
    alone = np.zeros(len(needed), np.bool_) if alone is None else alone
    candidate_starts = np.zeros(len(needed) + 1, np.int64)
    size = _near_candidates(starts, needed, alone, candidate_starts, np.zeros(0, np.int32))
    candidates = np.zeros(size, np.int32)
    _near_candidates(starts, needed, alone, candidate_starts, candidates)
    return candidate_starts, candidates


@kernel
def _prune(columns, program, bits, weights, max_heads, margin, needed, candidate_starts, candidates):
    at = 0
    starts = columns.starts
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        read = read_sentence(columns, program, sentence)
        room = feature_room(program, n)
        kept = np.zeros(n + 1, np.bool_)
        arcs, scores = np.empty((5, n + 1), np.int64), np.empty(n + 1)
        for m in range(1, n + 1):
            for h in range(n + 1):
                describe_arc(arcs, h, h, m, n + 1)
            scores[:] = 0.0
            score_features(read, ARCS, arcs, bits, weights, room, scores)
            score_between(read, ARCS_BETWEEN, arcs, bits, weights, room, scores)
            scores[m] = -np.inf
            kept[:] = False
            lowest = np.max(scores) - margin
            for _ in range(max_heads):
                best = np.argmax(scores)
                if not scores[best] >= lowest:
                    break
                kept[best] = True
                scores[best] = -np.inf
            kept[m - 1] = True
            token = starts[sentence] + m - 1
            if needed[token] != UNKNOWN:
                kept[needed[token]] = True
            for h in range(n + 1):
                if kept[h]:
                    candidates[at] = h
                    at += 1
            candidate_starts[token + 1] = at


def prune(
    columns: Columns,
    program: ArcProgram,
    bits: int,
    weights: np.ndarray,
    max_heads: int,
    margin: float,
    needed: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The `max_heads` best heads of each token, none `margin` below the best, by a first pass of its own.

    columns: of T tokens. program, bits, weights: the first pass's templates and weights, float [2^bits].
    needed: int32 [T], a head that is kept in any case, or UNKNOWN. The token before is always kept.
    Returns candidate starts int64 [T + 1] and candidates int32, ascending for each token.
    """
    n_tokens = int(columns.starts[-1])
    candidate_starts = np.zeros(n_tokens + 1, np.int64)
    candidates = np.zeros(n_tokens * (max_heads + 2), np.int32)
    _prune(columns, program, bits, either_precision(weights), max_heads, margin, needed, candidate_starts, candidates)
    return candidate_starts, candidates[: candidate_starts[-1]].copy()


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
