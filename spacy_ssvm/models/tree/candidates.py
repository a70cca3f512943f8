"""Candidate heads of a token: all near ones, or those that a cheap first pass keeps.

The first pass is a log-linear model that scores the head of each token independently.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    N_ARC_ROWS,
    ArcProgram,
    arc_direction,
    distance_bin,
    max_features,
    read_sentence,
    relation_code,
    with_relation,
    write_between,
    write_features,
)
from ...features.index import Columns, mix
from ...kernels import Int32Array, Int64Array, kernel
from ...structures.tree.parts import UNKNOWN
from .data import WeightVector, double_precision, in_steps
from .scores import describe_arc, feature_buffer, score_between, score_features

MIN_GRADIENT = 1e-3
"""Arcs whose gradient is at most this are skipped: they are many, and change little."""


class Ranking(NamedTuple):
    """Training data of the first pass: n sentences of T tokens, each with its gold head among all near candidates.

    Attributes:
        columns: attribute keys of the tokens.
        program: compiled templates, whose features are hashed to 2^bits weights.
        candidate_starts: int64 [T + 1].
        candidates: int32 [A], the heads that a token may have, ascending.
        gold: int32 [T]; the only candidate of tokens without a gold head.
    """

    columns: Columns
    program: ArcProgram
    candidate_starts: Int64Array
    candidates: Int32Array
    gold: Int32Array
    bits: int


@kernel
def ranking_oracle(data, example, weights, beta, gamma, indices, values):
    """Φ(x_i, y_i) − E[Φ(x_i, y)], where each token's head has P(h) ∝ exp(β(wᵀf(h, m) + γ [h is wrong])).

    Arcs with a gradient of at most MIN_GRADIENT are skipped. Returns the number of entries and −log P(y_i)/β.
    """
    first, n = data.columns.starts[example], data.columns.starts[example + 1] - data.columns.starts[example]
    read = read_sentence(data.columns, data.program, example)
    bits, program, union = data.bits, data.program, double_precision(weights)
    buffer, ends = feature_buffer(program, read, union), np.empty(1, np.int64)
    at, loss = 0, 0.0
    for m in range(1, n + 1):
        token = first + m - 1
        begin, count = data.candidate_starts[token], data.candidate_starts[token + 1] - data.candidate_starts[token]
        arcs, scores = np.empty((N_ARC_ROWS, count), np.int64), np.zeros(count)
        for c in range(count):
            describe_arc(arcs, c, data.candidates[begin + c], m, n + 1)
        score_features(read, ARCS, arcs, bits, union, buffer, scores)
        score_between(read, ARCS_BETWEEN, arcs, bits, union, buffer, scores)
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
            if abs(gradient) > MIN_GRADIENT:
                end = write_features(read, ARCS, arcs, c, c + 1, bits, indices, values, at)
                end = write_between(read, ARCS_BETWEEN, arcs, c, c + 1, bits, indices, values, ends, end)
                for k in range(at, end):
                    values[k] *= gradient
                at = end
    return at, loss


def ranking(program: ArcProgram, bits: int, columns: Columns, heads: np.ndarray) -> Ranking:
    """Training data for gold heads, int32 [T], with all candidates, or the nearest ones.

    A token whose head is UNKNOWN has a single candidate, so that nothing is learnt from it.
    """
    unknown = heads == UNKNOWN
    before = np.arange(len(heads)) - np.repeat(columns.starts[:-1], np.diff(columns.starts))
    gold = np.where(unknown, before, heads).astype(np.int32)
    return Ranking(columns, program, *near_candidates(columns.starts, gold, RANKED_HEADS, unknown), gold, bits)


def max_ranking_entries(data: Ranking) -> int:
    """An upper bound of the number of entries that `ranking_oracle` writes for any example."""
    starts = data.columns.starts
    n_arcs = np.diff(data.candidate_starts[starts])
    return int(np.max(n_arcs * max_features(data.program, np.diff(starts)), initial=0))


@kernel
def _adagrad_pass(data, examples, weights, squares, rate, indices, values):
    for example in examples:
        entries, _ = ranking_oracle(data, example, weights, 1.0, 0.0, indices, values)
        for k in range(entries):
            if values[k] == 0.0:
                continue
            squares[indices[k]] += values[k] * values[k]
            weights[indices[k]] += rate * values[k] / np.sqrt(squares[indices[k]])


def maximum_likelihood(data: Ranking, epochs: int, rate: float, seed: int) -> np.ndarray:
    """Weights of the first pass, float64 [2^bits], by `epochs` passes of AdaGrad (Duchi et al. 2011) in random order.

    Args:
        rate: AdaGrad's learning rate.
    """
    weights, squares = np.zeros(1 << data.bits), np.zeros(1 << data.bits)
    room, rng = max_ranking_entries(data), np.random.default_rng(seed)
    indices, values = np.zeros(room, np.int64), np.zeros(room)
    for _ in range(epochs):
        _adagrad_pass(data, rng.permutation(len(data.columns.starts) - 1), weights, squares, rate, indices, values)
    return weights


@kernel
def _add_up(data, weights, descent, indices, values):
    total = 0.0
    for example in range(len(data.columns.starts) - 1):
        entries, loss = ranking_oracle(data, example, weights, 1.0, 0.0, indices, values)
        for k in range(entries):
            descent[indices[k]] += values[k]
        total += loss
    return total


def ranking_losses(data: Ranking, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ −log P(y_i) of the gold heads, and minus its gradient, float64 [2^bits], at these weights, float64 [2^bits]."""
    room, descent = max_ranking_entries(data), np.zeros(1 << data.bits)
    return float(_add_up(data, weights, descent, np.zeros(room, np.int64), np.zeros(room))), descent


RANKED_HEADS = 200
"""The max number of heads of a token, on average in its sentence, that the first pass is trained on."""


@kernel
def _reach(n, max_heads):
    """The largest distance of heads in a sentence of n tokens that have at most `max_heads` of them on average."""
    # Distances up to r have 2nr − r(r + 1) arcs.
    reach = n - 1
    while reach > 1 and 2 * n * reach - reach * (reach + 1) > max_heads * n:
        reach -= 1
    return reach


@kernel
def _near_candidates(starts, needed, alone, max_heads, candidate_starts, candidates):
    at = 0
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        reach = _reach(n, max_heads)
        for m in range(1, n + 1):
            token = starts[sentence] + m - 1
            for h in range(n + 1):
                near = h == 0 or abs(h - m) <= reach
                if h != m and (h == needed[token] or (h == m - 1 if alone[token] else near)):
                    if len(candidates):
                        candidates[at] = h
                    at += 1
            candidate_starts[token + 1] = at
    return at


def near_candidates(
    starts: np.ndarray, needed: np.ndarray, max_heads: int, alone: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The candidates without a first pass: the nearest heads, `max_heads` of each token on average, and the root.

    Args:
        starts: int64 [n + 1], of sentences.
        needed: int32 [T], a head that is a candidate in any case, or UNKNOWN.
        alone: bool [T], tokens whose only candidate is the token before; none by default.

    Returns:
        Candidate starts int64 [T + 1] and candidates int32.
    """
    alone = np.zeros(len(needed), np.bool_) if alone is None else alone
    candidate_starts = np.zeros(len(needed) + 1, np.int64)
    size = _near_candidates(starts, needed, alone, max_heads, candidate_starts, np.zeros(0, np.int32))
    candidates = np.zeros(size, np.int32)
    _near_candidates(starts, needed, alone, max_heads, candidate_starts, candidates)
    return candidate_starts, candidates


@kernel
def _by_head(read):
    """The head's keys, uint64, and values, float64, of the F conjunctions of arcs: [F, n + 1], heads side by side.

    There are no values where all are 1.
    """
    first, end, n_nodes = read.starts[ARCS, 0], read.starts[ARCS, 4], read.keys.shape[1] - 1
    keys, values = np.empty((end - first, n_nodes), np.uint64), np.empty((0 if read.ones else end - first, n_nodes))
    for node in range(n_nodes):
        for t in range(first, end):
            keys[t - first, node] = read.keys[0, node, t]
            if not read.ones:
                values[t - first, node] = read.values[0, node, t]
    return keys, values


@kernel
def _score_heads(read, by_head, m, bits, weights, codes, hashed, sums, scores):
    """Set scores, float64 [n + 1], to the scores of all arcs to m, in steps; by_head: from `_by_head`.

    The loops are inside out, compared with `score_features`: a conjunction at a time, for all heads.

    Args:
        codes: int64 [3, n + 1], hashed: int64 [n + 1], sums: int64 [n + 1], scratch.
    """
    keys, values = by_head
    n_heads, steps, starts = len(scores), weights.steps, read.starts[ARCS]
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for h in range(n_heads):
        direction, distance = arc_direction(h, m), distance_bin(h, m)
        for relation in range(3):
            codes[relation, h] = relation_code(relation, direction, distance, bits)
    scores[:] = 0.0
    for t in range(starts[0], starts[4]):
        value = 1.0 if read.ones else read.values[1, m, t]
        if value == 0.0:
            continue
        heads, modifier = keys[t - starts[0]], read.keys[1, m, t]
        for h in range(n_heads):
            hashed[h] = np.int64(mix(heads[h], modifier) & mask)
        sums[:] = 0
        for relation in range(3):
            first, end = with_relation(read.starts, ARCS, relation)
            if first <= t < end:
                flipped = codes[relation]
                for h in range(n_heads):
                    sums[h] += steps[hashed[h] ^ flipped[h]]
        if read.ones:
            for h in range(n_heads):
                scores[h] += sums[h]
        else:
            for h in range(n_heads):
                scores[h] += sums[h] * values[t - starts[0], h] * value


@kernel
def _next_nodes(read):
    """The next node with the same key as each node, int64 [B, n + 1], or n + 1: see `Sentence.previous`."""
    n_nodes = read.between.shape[1]
    following = np.full(read.between.shape, n_nodes, np.int64)
    for b in range(len(following)):
        for node in range(1, n_nodes):
            following[b, read.previous[b, node]] = node
    return following


@kernel
def _add_between(read, following, m, bits, weights, codes, distinct, scores):
    """Add the templates with a `between` part to `_score_heads`.

    On either side of m, an arc has the keys between its ends that the next shorter arc has, and at most one more.

    Args:
        following: of `_next_nodes`.
        distinct: uint64 [n + 1], scratch.
    """
    n_heads, steps = len(scores), weights.steps
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for relation in range(3):
        first, end = with_relation(read.starts, ARCS_BETWEEN, relation)
        for t in range(first, end):
            b, modifier, value = read.sources[t], read.keys[1, m, t], 1.0 if read.ones else read.values[1, m, t]
            for way in range(2):
                n_distinct, step = 0, 1 if way == 0 else -1
                h = m + 2 * step
                while 0 <= h < n_heads:
                    node = h - step
                    is_new = read.previous[b, node] <= m if way == 0 else following[b, node] >= m
                    if is_new and read.between[b, node] != 0:
                        distinct[n_distinct] = read.between[b, node]
                        n_distinct += 1
                    state, total = mix(read.keys[0, h, t], modifier), 0
                    for k in range(n_distinct):
                        total += steps[np.int64(mix(state, distinct[k]) & mask) ^ codes[relation, h]]
                    scores[h] += total * value * (1.0 if read.ones else read.values[0, h, t])
                    h += step


@kernel
def _prune(columns, program, bits, weights, max_heads, margin, needed, candidate_starts, candidates):
    at = 0
    starts = columns.starts
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        read = read_sentence(columns, program, sentence)
        by_head, following = _by_head(read), _next_nodes(read)
        codes, distinct = np.empty((3, n + 1), np.int64), np.empty(n + 1, np.uint64)
        hashed, sums = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
        kept, scores = np.zeros(n + 1, np.bool_), np.empty(n + 1)
        for m in range(1, n + 1):
            _score_heads(read, by_head, m, bits, weights, codes, hashed, sums, scores)
            _add_between(read, following, m, bits, weights, codes, distinct, scores)
            scores *= weights.arc_step
            scores[m] = -np.inf
            lowest, n_kept = np.max(scores) - margin, 0
            for h in range(n + 1):
                kept[h] = h != m and scores[h] >= lowest
                n_kept += kept[h]
            # Of equal scores the first is the better one.
            while n_kept > max_heads:
                worst = -1
                for h in range(n + 1):
                    if kept[h] and (worst < 0 or scores[h] <= scores[worst]):
                        worst = h
                kept[worst] = False
                n_kept -= 1
            kept[m - 1] = True
            token = starts[sentence] + m - 1
            if needed[token] != UNKNOWN:
                kept[needed[token]] = True
            for h in range(n + 1):
                if kept[h]:
                    candidates[at] = h
                    at += 1
            candidate_starts[token + 1] = at


BITS = 20
"""Size of the hashed index of a first pass: 2^BITS weights."""

TRAINING_SLACK = 1.0
"""Added to the margin in training, because the first pass is surer of sentences that it was trained on."""

SIZES = (0, 1 << BITS)
"""The numbers of weights that a first pass may have."""


@dataclass(frozen=True)
class ArcFirstPass:
    """The first pass: it keeps the most probable heads of each token.

    Attributes:
        program: its templates.
        weights: float32, as many as `SIZES` allows; if empty, the nearest heads are kept.
        max_heads: the largest number of heads per token.
        max_any_heads: the same, regardless of the settings; without weights, on average in a sentence.
        margin: how far the log-probability of a head may be below the best head's.
    """

    program: ArcProgram
    weights: np.ndarray
    max_heads: int
    margin: float
    max_any_heads: int

    @property
    def bits(self) -> int:
        """Features are hashed to 2^bits weights."""
        return len(self.weights).bit_length() - 1

    @cached_property
    def _steps(self) -> WeightVector:
        return in_steps(self.weights, len(self.weights))

    def candidates(self, columns: Columns, needed: np.ndarray, slack: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Candidate starts int64 [T + 1] and candidates int32, ascending for each token.

        They are the `max_heads` best heads, none more than `margin` below the best.

        Args:
            columns: of T tokens.
            needed: int32 [T], heads that are kept in any case, -1 for none. The token before is also kept in any case,
                so that every token can be reached from the root.
            slack: added to the margin.
        """
        if not len(self.weights):
            return near_candidates(columns.starts, needed, self.max_any_heads)
        max_heads, margin = min(self.max_heads, self.max_any_heads), self.margin + slack
        starts, room = np.zeros(len(needed) + 1, np.int64), np.zeros(len(needed) * (max_heads + 2), np.int32)
        _prune(columns, self.program, self.bits, self._steps, max_heads, margin, needed, starts, room)
        return starts, room[: starts[-1]].copy()

    def keeps(self, columns: Columns, heads: np.ndarray) -> tuple[np.ndarray, int]:
        """Whether each of these heads, int32 [T], is a candidate, bool [T], and the number of all candidates."""
        starts, candidates = self.candidates(columns, np.full(len(heads), UNKNOWN, np.int32))
        token = np.repeat(np.arange(len(heads)), np.diff(starts))
        is_kept = np.zeros(len(heads), np.bool_)
        is_kept[token[candidates == heads[token]]] = True
        return is_kept, len(candidates)


class HeadExamples(NamedTuple):
    """The sentences that a first pass is to learn from; heads: int32 [T], gold, UNKNOWN where unknown."""

    columns: Columns
    heads: np.ndarray
    first_pass: ArcFirstPass
