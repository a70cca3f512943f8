"""Scores of a sentence's candidate arcs, their best labels, and pairs of arcs."""

from typing import NamedTuple

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    DIRECTION_ROW,
    DISTANCE_ROW,
    FIRST,
    GRANDPARENTS,
    HEAD_LABELS,
    HEAD_ROW,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    MODIFIER_ROW,
    N_ARC_ROWS,
    SIBLINGS,
    THIRD_ROW,
    arc_direction,
    count_templates,
    distance_bin,
    max_features,
    write_between,
    write_features,
)
from ...kernels import kernel, prefetch
from ...structures import FORBIDDEN
from ...structures.tree.parts import NONE, PROJECTIVE_GRANDPARENTS, ROOT_LABEL, Parts
from .data import CACHE_LINE

CHUNK = 64
"""Number of arcs whose features are hashed before their weights are fetched: enough to keep memory busy, without
exceeding the caches."""


class FeatureBuffer(NamedTuple):
    """Scratch for the features of CHUNK arcs.

    Attributes:
        indices: int64.
        values: float64, empty where all are 1.
        ends: int64 [CHUNK], end positions.
    """

    indices: np.ndarray
    values: np.ndarray
    ends: np.ndarray


@kernel
def feature_buffer(program, read):
    """A `FeatureBuffer` for a sentence."""
    size = CHUNK * max_features(program, read.keys.shape[1] - 2)
    return FeatureBuffer(np.empty(size, np.int64), np.empty(0 if read.ones else size), np.empty(CHUNK, np.int64))


@kernel
def _weight(weights, indices, k):
    """The weight of the feature at place k. Unsigned places need no check for negative ones."""
    return weights[np.uint64(indices[np.uint64(k)])]


@kernel
def _sum(weights, indices, values, begin, end):
    """Σ weight · value over features, in four partial sums, so that additions do not wait for each other."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    fours = begin + (end - begin) // 4 * 4
    for k in range(begin, fours, 4):
        first += _weight(weights, indices, k) * values[k]
        second += _weight(weights, indices, k + 1) * values[k + 1]
        third += _weight(weights, indices, k + 2) * values[k + 2]
        fourth += _weight(weights, indices, k + 3) * values[k + 3]
    for k in range(fours, end):
        first += _weight(weights, indices, k) * values[k]
    return (first + second) + (third + fourth)


@kernel
def _sum_of_ones(weights, indices, begin, end):
    """The sum of weights where all values are 1; a whole number for steps."""
    zero = weights.dtype.type(0)
    first, second, third, fourth = zero, zero, zero, zero
    fours = begin + (end - begin) // 4 * 4
    for k in range(begin, fours, 4):
        first += _weight(weights, indices, k)
        second += _weight(weights, indices, k + 1)
        third += _weight(weights, indices, k + 2)
        fourth += _weight(weights, indices, k + 3)
    for k in range(fours, end):
        first += _weight(weights, indices, k)
    return (first + second) + (third + fourth)


@kernel
def _add_sums(weights, step, buffer, begin, end, scores):
    indices, values, ends = buffer.indices, buffer.values, buffer.ends
    # Prefetching all of them first keeps more fetches in flight than the additions would.
    for k in range(np.uint64(ends[end - begin - 1])):
        prefetch(weights, indices[k])
    at = 0
    if len(values) == 0:
        for arc in range(begin, end):
            stop = ends[arc - begin]
            scores[arc] += step * _sum_of_ones(weights, indices, at, stop)
            at = stop
        return
    for arc in range(begin, end):
        stop = ends[arc - begin]
        scores[arc] += step * _sum(weights, indices, values, at, stop)
        at = stop


@kernel
def _add_weights(weights, buffer, begin, end, scores):
    """Add the weighted features in the buffer to the scores of arcs begin … end − 1; weights: `WeightVector`."""
    if len(weights.steps):
        _add_sums(weights.steps, weights.arc_step, buffer, begin, end, scores)
    else:
        _add_sums(weights.double, 1.0, buffer, begin, end, scores)


@kernel
def describe_arc(arcs, arc, head, modifier, third):
    """Fill in column `arc` of an arc array, int64 [N_ARC_ROWS, A]; third: the inner neighbour, or n + 1 for none."""
    arcs[HEAD_ROW, arc], arcs[MODIFIER_ROW, arc], arcs[THIRD_ROW, arc] = head, modifier, third
    arcs[DIRECTION_ROW, arc], arcs[DISTANCE_ROW, arc] = arc_direction(head, modifier), distance_bin(head, modifier)


@kernel
def describe_grand(arcs, arc, grand, head, modifier):
    """Describe an arc and the arc above it, as `describe_arc`; the direction combines both arcs' directions.

    The third word tells whether the arc above comes from the root.
    """
    describe_arc(arcs, arc, head, modifier, grand)
    arcs[DIRECTION_ROW, arc] = 2 * arc_direction(head, modifier) + (1 if grand < head else 0)


@kernel
def _write(read, kind, arcs, begin, end, bits, buffer):
    """Write the features of arcs begin … end − 1 to the buffer."""
    size = count_templates(read.starts, kind)
    write_features(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, FIRST)
    for arc in range(end - begin):
        buffer.ends[arc] = (arc + 1) * size


@kernel
def score_features(read, kind, arcs, bits, weights, buffer, scores):
    """Add wᵀf of the arcs or pairs to scores, float64 [A]."""
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        _write(read, kind, arcs, begin, end, bits, buffer)
        _add_weights(weights, buffer, begin, end, scores)


@kernel
def score_between(read, kind, arcs, bits, weights, buffer, scores):
    """Add the scores of templates with a `between` part."""
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        write_between(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, buffer.ends, FIRST)
        _add_weights(weights, buffer, begin, end, scores)


@kernel
def _add_blocks(weights, first_row, indices, values, begin, end, total):
    """Add the features' label weights to total, float [row], four at a time, which saves loads and stores of sums."""
    real, with_values = total.dtype.type, len(values) > 0
    row, zero = np.uint64(len(total)), np.uint64(first_row)
    a = b = c = d = real(1.0)
    fours = begin + (end - begin) // 4 * 4
    for k in range(begin, fours, 4):
        # Unsigned places need no check for negative ones, so that the loop is vectorised.
        first = zero + np.uint64(indices[k]) * row
        second = zero + np.uint64(indices[k + 1]) * row
        third = zero + np.uint64(indices[k + 2]) * row
        fourth = zero + np.uint64(indices[k + 3]) * row
        if with_values:
            a, b, c, d = real(values[k]), real(values[k + 1]), real(values[k + 2]), real(values[k + 3])
        for label in range(row):
            # Evaluated from left to right: the same sum as one feature after the other.
            total[label] = (
                total[label]
                + real(weights[first + label]) * a
                + real(weights[second + label]) * b
                + real(weights[third + label]) * c
                + real(weights[fourth + label]) * d
            )
    for k in range(fours, end):
        first = zero + np.uint64(indices[k]) * row
        if with_values:
            a = real(values[k])
        for label in range(row):
            total[label] += real(weights[first + label]) * a


@kernel
def _prefetch_rows(weights, first_row, indices, end, row):
    step = CACHE_LINE // weights.itemsize
    for k in range(end):
        block = first_row + indices[k] * row
        for place in range(block, block + row - 1, step):
            prefetch(weights, place)
        prefetch(weights, block + row - 1)


@kernel
def _add_label_weights(weights, first_row, buffer, begin, end, scores):
    """`_add_weights` for all labels: scores are float64 [·, L]; first_row: where the label weights start."""
    indices, values, ends, n_labels = buffer.indices, buffer.values, buffer.ends, scores.shape[1]
    at, n_features = 0, ends[end - begin - 1]
    if len(weights.steps):
        _prefetch_rows(weights.steps, first_row, indices, n_features, weights.label_row)
        # As long as a row, so that no labels are left over when the sums are vectorised.
        total = np.empty(weights.label_row, np.float32)
        for arc in range(begin, end):
            stop = ends[arc - begin]
            total[:] = 0.0
            _add_blocks(weights.steps, first_row, indices, values, at, stop, total)
            row = scores[arc]
            for label in range(n_labels):
                row[label] += weights.label_step * total[label]
            at = stop
    else:
        _prefetch_rows(weights.double, first_row, indices, n_features, n_labels)
        for arc in range(begin, end):
            stop = ends[arc - begin]
            _add_blocks(weights.double, first_row, indices, values, at, stop, scores[arc])
            at = stop


@kernel
def score_label_features(read, kind, arcs, bits, first_row, weights, buffer, scores):
    """Add the weights of all labels of the arcs to scores, float64 [A, L]; first_row: where the label weights start."""
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        _write(read, kind, arcs, begin, end, bits, buffer)
        _add_label_weights(weights, first_row, buffer, begin, end, scores)


@kernel
def score_label_between(read, kind, arcs, bits, first_row, weights, buffer, scores):
    """Add the label scores of templates with a `between` part."""
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        write_between(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, buffer.ends, FIRST)
        _add_label_weights(weights, first_row, buffer, begin, end, scores)


@kernel
def _score_labels(trees, read, arcs, weights, buffer, scores):
    """Add the scores of all labels of all arcs to scores, float64 [A, L]."""
    n, bits, first_row = read.keys.shape[1] - 2, trees.shape.label_bits, 1 << trees.shape.arc_bits
    # Features of one word are the same for all its arcs to the right (column 2 · node) and to the left (2 · node + 1).
    words = np.empty((N_ARC_ROWS, 2 * n + 2), np.int64)
    for node in range(n + 1):
        describe_arc(words, 2 * node, node, node, n + 1)
        describe_arc(words, 2 * node + 1, node, node, n + 1)
        words[DIRECTION_ROW, 2 * node], words[DIRECTION_ROW, 2 * node + 1] = 2, 3
    head_scores, modifier_scores = np.zeros((2 * n + 2, scores.shape[1])), np.zeros((2 * n + 2, scores.shape[1]))
    score_label_features(read, HEAD_LABELS, words, bits, first_row, weights, buffer, head_scores)
    score_label_features(read, MODIFIER_LABELS, words, bits, first_row, weights, buffer, modifier_scores)
    for arc in range(len(scores)):
        head, modifier = 2 * arcs[HEAD_ROW, arc], 2 * arcs[MODIFIER_ROW, arc]
        side = 0 if head < modifier else 1
        for label in range(scores.shape[1]):
            scores[arc, label] += head_scores[head + side, label] + modifier_scores[modifier + side, label]
    score_label_features(read, LABELS, arcs, bits, first_row, weights, buffer, scores)
    score_label_between(read, LABELS_BETWEEN, arcs, bits, first_row, weights, buffer, scores)


@kernel
def candidate_arcs(trees, sentence):
    """All candidate arcs of a sentence as `Parts`, with scores of 0 and without pairs."""
    first, end = trees.columns.starts[sentence], trees.columns.starts[sentence + 1]
    n, begin = end - first, trees.candidate_starts[first]
    size = trees.candidate_starts[end] - begin
    number = np.full((n + 1, n + 1), NONE, np.int32)
    heads, modifiers = np.empty(size, np.int32), np.empty(size, np.int32)
    for m in range(1, n + 1):
        for c in range(trees.candidate_starts[first + m - 1], trees.candidate_starts[first + m]):
            number[trees.candidates[c], m] = c - begin
            heads[c - begin], modifiers[c - begin] = trees.candidates[c], m
    starts, nothing, zeros = np.zeros(size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float64)
    return Parts(number, heads, modifiers, np.zeros(size), starts, nothing, zeros, starts, nothing, zeros)


@kernel
def score_labelled_arcs(trees, sentence, read, weights, loss_scale):
    """The scores, wᵀΦ + loss_scale · Δ, of all candidate arcs of a sentence, and of all labels of these arcs.

    Returns the arcs, scored without their labels, as `Parts`, and the label scores, float64 [A, L], FORBIDDEN where an
    arc cannot have a label; [0, 1] where there is one label only.
    """
    with_labels = trees.shape.n_labels > 1
    first, n = trees.columns.starts[sentence], trees.columns.starts[sentence + 1] - trees.columns.starts[sentence]
    parts = candidate_arcs(trees, sentence)
    heads, modifiers, scores, size = parts.heads, parts.modifiers, parts.scores, len(parts.heads)
    arcs = np.empty((N_ARC_ROWS, size), np.int64)
    for arc in range(size):
        describe_arc(arcs, arc, heads[arc], modifiers[arc], n + 1)
    bits, buffer = trees.shape.arc_bits, feature_buffer(trees.program, read)
    score_features(read, ARCS, arcs, bits, weights, buffer, scores)
    score_between(read, ARCS_BETWEEN, arcs, bits, weights, buffer, scores)
    label_scores = np.zeros((size if with_labels else 0, trees.shape.n_labels))
    if with_labels:
        _score_labels(trees, read, arcs, weights, buffer, label_scores)
    for arc in range(size):
        token = first + modifiers[arc] - 1
        if heads[arc] != trees.gold[token]:
            scores[arc] += loss_scale * trees.head_costs[token]
        if not with_labels:
            continue
        cost, gold = loss_scale * trees.label_costs[token], trees.gold_labels[token]
        if heads[arc] == 0:
            # Labels of arcs from the root have no features of their own.
            label_scores[arc] = FORBIDDEN
            label_scores[arc, ROOT_LABEL] = cost if gold != ROOT_LABEL else 0.0
            continue
        label_scores[arc, ROOT_LABEL] = FORBIDDEN
        if cost != 0.0:
            for label in range(ROOT_LABEL + 1, trees.shape.n_labels):
                if label != gold:
                    label_scores[arc, label] += cost
    return parts, label_scores


@kernel
def add_siblings(trees, read, parts, weights):
    """Parts with all pairs of neighbouring siblings, besides the given ones."""
    n, size = len(parts.number) - 1, len(parts.heads)
    starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 1
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                count += 1
        starts[arc + 1] = starts[arc] + count
    siblings, scores = np.empty(starts[-1], np.int32), np.zeros(starts[-1])
    pairs = np.empty((N_ARC_ROWS, starts[-1]), np.int64)
    k = 0
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        siblings[k] = NONE
        describe_arc(pairs, k, h, m, n + 1)
        k += 1
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                siblings[k] = parts.number[h, s]
                describe_arc(pairs, k, h, m, s)
                k += 1
    score_features(read, SIBLINGS, pairs, trees.shape.arc_bits, weights, feature_buffer(trees.program, read), scores)
    return Parts(
        parts.number,
        parts.heads,
        parts.modifiers,
        parts.scores,
        starts,
        siblings,
        scores,
        parts.grand_starts,
        parts.grands,
        parts.grand_scores,
    )


@kernel
def _can_be_grandparent(projective, grand, head, modifier):
    """Whether a tree can have both arcs, (grand, head) and (head, modifier).

    In a projective tree, all tokens between head and modifier are descendants of the head, and so cannot be its head.
    """
    return grand != modifier and not (projective and min(head, modifier) < grand < max(head, modifier))


@kernel
def add_grandparents(trees, sentence, read, parts, weights):
    """Parts with all pairs of an arc and a possible arc above it, besides the given ones."""
    n, size = len(parts.number) - 1, len(parts.heads)
    first = trees.columns.starts[sentence]
    begin = trees.candidate_starts[first]
    # Arcs are numbered as candidates: those to h are above[h − 1] … above[h] − 1, minus the sentence's first candidate.
    above = trees.candidate_starts[first : first + n + 1]
    projective = trees.shape.structure == PROJECTIVE_GRANDPARENTS
    starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 0
        if h != 0:
            for upper in range(above[h - 1] - begin, above[h] - begin):
                if _can_be_grandparent(projective, parts.heads[upper], h, m):
                    count += 1
        starts[arc + 1] = starts[arc] + count
    grands, scores = np.empty(starts[-1], np.int32), np.zeros(starts[-1])
    pairs = np.empty((N_ARC_ROWS, starts[-1]), np.int64)
    k = 0
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        if h == 0:
            continue
        for upper in range(above[h - 1] - begin, above[h] - begin):
            if _can_be_grandparent(projective, parts.heads[upper], h, m):
                grands[k] = upper
                describe_grand(pairs, k, parts.heads[upper], h, m)
                k += 1
    score_features(
        read, GRANDPARENTS, pairs, trees.shape.arc_bits, weights, feature_buffer(trees.program, read), scores
    )
    return Parts(
        parts.number,
        parts.heads,
        parts.modifiers,
        parts.scores,
        parts.sibling_starts,
        parts.siblings,
        parts.sibling_scores,
        starts,
        grands,
        scores,
    )
