"""Each token's head by itself, as a log-linear model: the marginal oracle that the first pass is trained with."""

import numpy as np

from ...features.arc_hashing import ArcProgram, arc_features, hash_words
from ...features.hashing import Columns
from ...kernels import kernel
from .candidates import near_candidates
from .data import INDEPENDENT, NOT_GIVEN, Shape, Trees
from .scores import feature_room, gather

NEGLIGIBLE = 1e-3
"""Arcs whose probability is this near to the truth are left out of the gradient: they are many and change nothing."""


@kernel
def marginal_oracle(trees, example, weights, loss_scale, indices, values):
    """Φ(x_i, y_i) − E[Φ(x_i, y)], each token's head drawn from P(h) ∝ exp(wᵀf(h, m) + loss_scale · [h is wrong]).

    Entries whose expectation is NEGLIGIBLE are left out. Returns the number of entries and −log P(y_i).
    """
    first, n = trees.columns.starts[example], trees.columns.starts[example + 1] - trees.columns.starts[example]
    words = hash_words(trees.columns, trees.program, example)
    bits, program = trees.shape.arc_bits, trees.program
    room, room_values = feature_room(program, n)
    scores = np.empty(n + 1)
    at, loss = 0, 0.0
    for m in range(1, n + 1):
        token = first + m - 1
        begin, count = trees.candidate_starts[token], trees.candidate_starts[token + 1] - trees.candidate_starts[token]
        for c in range(count):
            h = trees.candidates[begin + c]
            found = arc_features(program.arcs, words, h, m, bits, room, room_values, 0)
            scores[c] = gather(weights, room, room_values, found)
            if h != trees.gold[token]:
                scores[c] += loss_scale * trees.head_costs[token]
        highest = np.max(scores[:count])
        total = np.sum(np.exp(scores[:count] - highest))
        for c in range(count):
            h = trees.candidates[begin + c]
            gradient = -np.exp(scores[c] - highest) / total
            if h == trees.gold[token]:
                loss -= np.log(-gradient)
                gradient += 1.0
            if abs(gradient) > NEGLIGIBLE:
                behind = arc_features(program.arcs, words, h, m, bits, indices, values, at)
                values[at:behind] *= gradient
                at = behind
    return at, loss


def ranking(program: ArcProgram, bits: int, columns: Columns, heads: np.ndarray) -> Trees:
    """Training data: each token's gold head, int32 [T], among all that are near.

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
        Shape(0, bits, 0, INDEPENDENT, True),
    )


@kernel
def _largest_gradient(trees):
    largest = 0
    for sentence in range(len(trees.columns.starts) - 1):
        first, behind = trees.columns.starts[sentence], trees.columns.starts[sentence + 1]
        room, _ = feature_room(trees.program, behind - first)
        largest = max(largest, len(room) * (trees.candidate_starts[behind] - trees.candidate_starts[first]))
    return largest


def largest_gradient(trees: Trees) -> int:
    """An upper bound of what the marginal oracle writes for any example."""
    return int(_largest_gradient(trees))
