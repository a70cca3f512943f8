"""Candidate heads of a token: all that are near, or those that a cheap first pass leaves.

The first pass scores each token's head by itself, as a log-linear model.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    ArcProgram,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...features.index import Columns
from ...kernels import Int32Array, Int64Array, kernel, numba_type
from ...structures.tree.parts import UNKNOWN
from .data import double_precision, either_precision
from .scores import describe_arc, feature_room, score_between, score_features

NEGLIGIBLE = 1e-3
"""Arcs whose probability is this near to the truth are left out of the gradient: they are many and change nothing."""


class Ranking(NamedTuple):
    """n sentences of T tokens, each of which is to be given its gold head among all that are near.

    columns: attribute keys of the tokens. program: compiled templates; their features are hashed to 2^bits weights.
    candidate_starts: int64 [T + 1]; candidates: int32 [A], the heads that a token may have, ascending.
    gold: int32 [T]; where there is nothing to learn it is the only candidate.
    """

    columns: Columns
    program: ArcProgram
    candidate_starts: Int64Array
    candidates: Int32Array
    gold: Int32Array
    bits: int


RANKING = numba_type(Ranking)
"""The numba type of `Ranking`."""


@kernel
def ranking_oracle(data, example, weights, beta, gamma, indices, values):
    """Φ(x_i, y_i) − E[Φ(x_i, y)], each token's head drawn from P(h) ∝ exp(β(wᵀf(h, m) + γ [h is wrong])).

    Entries whose expectation is NEGLIGIBLE are left out. Returns the number of entries and −log P(y_i)/β.
    """
    first, n = data.columns.starts[example], data.columns.starts[example + 1] - data.columns.starts[example]
    read = read_sentence(data.columns, data.program, example)
    bits, program = data.bits, data.program
    room, ends, union = feature_room(program, n), np.empty(1, np.int64), double_precision(weights)
    at, loss = 0, 0.0
    for m in range(1, n + 1):
        token = first + m - 1
        begin, count = data.candidate_starts[token], data.candidate_starts[token + 1] - data.candidate_starts[token]
        arcs, scores = np.empty((5, count), np.int64), np.zeros(count)
        for c in range(count):
            describe_arc(arcs, c, data.candidates[begin + c], m, n + 1)
        score_features(read, ARCS, arcs, bits, union, room, scores)
        score_between(read, ARCS_BETWEEN, arcs, bits, union, room, scores)
        for c in range(count):
            if data.candidates[begin + c] != data.gold[token]:
                scores[c] += gamma
        highest, total = -np.inf, 0.0
        for c in range(count):
            scores[c] *= beta
            highest = max(highest, scores[c])
        for c in range(count):
            total += np.exp(scores[c] - highest)
        for c in range(count):
            h = data.candidates[begin + c]
            gradient = -np.exp(scores[c] - highest) / total
            if h == data.gold[token]:
                loss += (math.log(total) + highest - scores[c]) / beta
                gradient += 1.0
            if abs(gradient) > NEGLIGIBLE:
                end = write_features(read, ARCS, arcs, c, c + 1, bits, indices, values, at)
                end = write_between(read, ARCS_BETWEEN, arcs, c, c + 1, bits, indices, values, ends, end)
                for k in range(at, end):
                    values[k] *= gradient
                at = end
    return at, loss


def ranking(program: ArcProgram, bits: int, columns: Columns, heads: np.ndarray) -> Ranking:
    """Training data: each token's gold head, int32 [T], among all that are near.

    Where the head is UNKNOWN there is nothing to choose, and so nothing to learn.
    """
    unknown = heads == UNKNOWN
    before = np.arange(len(heads)) - np.repeat(columns.starts[:-1], np.diff(columns.starts))
    gold = np.where(unknown, before, heads).astype(np.int32)
    return Ranking(columns, program, *near_candidates(columns.starts, gold, unknown), gold, bits)


def max_ranking_entries(data: Ranking) -> int:
    """An upper bound of what the marginal oracle writes for any example."""
    starts = data.columns.starts
    n_arcs = np.diff(data.candidate_starts[starts])
    return int(np.max(n_arcs * max_features(data.program, np.diff(starts)), initial=0))


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
