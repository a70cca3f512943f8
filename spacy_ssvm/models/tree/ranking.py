"""Each token's head by itself, as a log-linear model: the marginal oracle that the first pass is trained with."""

from typing import NamedTuple

import numpy as np

from ...features.arc_hashing import (
    ARCS,
    ARCS_BETWEEN,
    ArcProgram,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...features.hashing import Columns
from ...kernels import Int32Array, Int64Array, kernel, numba_type
from ...structures.tree.parts import UNKNOWN
from .candidates import near_candidates
from .data import double_precision
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
def marginal_oracle(data, example, weights, beta, gamma, indices, values):
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
                loss -= np.log(-gradient) / beta
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


def max_gradient_entries(data: Ranking) -> int:
    """An upper bound of what the marginal oracle writes for any example."""
    starts = data.columns.starts
    n_arcs = np.diff(data.candidate_starts[starts])
    return int(np.max(n_arcs * max_features(data.program, np.diff(starts)), initial=0))
