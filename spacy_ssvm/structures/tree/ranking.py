"""Each token's head by itself, as a log-linear model: the marginal oracle that the first pass is trained with."""

import numpy as np

from ...features.arc_hashing import ArcProgram, most_features, read_sentence, write_between, write_features
from ...features.hashing import Columns
from ...kernels import kernel
from .candidates import near_candidates
from .data import INDEPENDENT, NOT_GIVEN, Shape, Trees
from .scores import describe_arc, feature_room, score_between, score_features

NEGLIGIBLE = 1e-3
"""Arcs whose probability is this near to the truth are left out of the gradient: they are many and change nothing."""


@kernel
def marginal_oracle(trees, example, weights, beta, gamma, indices, values):
    """Φ(x_i, y_i) − E[Φ(x_i, y)], each token's head drawn from P(h) ∝ exp(β(wᵀf(h, m) + γ [h is wrong])).

    Entries whose expectation is NEGLIGIBLE are left out. Returns the number of entries and −log P(y_i)/β.
    """
    first, n = trees.columns.starts[example], trees.columns.starts[example + 1] - trees.columns.starts[example]
    read = read_sentence(trees.columns, trees.program, example)
    bits, program = trees.shape.arc_bits, trees.program
    room, ends = feature_room(program, n), np.empty(1, np.int64)
    at, loss = 0, 0.0
    for m in range(1, n + 1):
        token = first + m - 1
        begin, count = trees.candidate_starts[token], trees.candidate_starts[token + 1] - trees.candidate_starts[token]
        arcs, scores = np.empty((5, count), np.int64), np.zeros(count)
        for c in range(count):
            describe_arc(arcs, c, trees.candidates[begin + c], m, n + 1)
        score_features(read.arcs, arcs, bits, weights, room, scores)
        score_between(read.arcs_between, read.between, read.previous, arcs, bits, weights, room, scores)
        for c in range(count):
            if trees.candidates[begin + c] != trees.gold[token]:
                scores[c] += gamma * trees.head_costs[token]
        scores *= beta
        highest = np.max(scores)
        total = np.sum(np.exp(scores - highest))
        for c in range(count):
            h = trees.candidates[begin + c]
            gradient = -np.exp(scores[c] - highest) / total
            if h == trees.gold[token]:
                loss -= np.log(-gradient) / beta
                gradient += 1.0
            if abs(gradient) > NEGLIGIBLE:
                behind = write_features(read.arcs, arcs, c, c + 1, bits, indices, values, at)
                behind = write_between(
                    read.arcs_between,
                    read.between,
                    read.previous,
                    arcs,
                    c,
                    c + 1,
                    bits,
                    indices,
                    values,
                    ends,
                    behind,
                )
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
        most = most_features(trees.program, behind - first)
        largest = max(largest, most * (trees.candidate_starts[behind] - trees.candidate_starts[first]))
    return largest


def largest_gradient(trees: Trees) -> int:
    """An upper bound of what the marginal oracle writes for any example."""
    return int(_largest_gradient(trees))
