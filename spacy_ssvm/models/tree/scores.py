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
    replace_missing,
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
def feature_buffer(program, read, weights):
    """A `FeatureBuffer` for a sentence and a `WeightVector`; in steps, there is a weight for what does not fire."""
    size = CHUNK * max_features(program, read.keys.shape[1] - 2)
    values = np.empty(0 if read.ones or (len(weights.steps) and read.binary) else size)
    return FeatureBuffer(np.empty(size, np.int64), values, np.empty(CHUNK, np.int64))


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
def _write(read, kind, arcs, begin, end, bits, missing, buffer):
    """Write the features of arcs begin … end − 1 to the buffer; missing: the index of what does not fire, in steps."""
    size = count_templates(read.starts, kind)
    write_features(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, FIRST)
    if len(buffer.values) == 0 and (read.gaps >> kind) & 1:
        replace_missing(read, kind, arcs, begin, end, missing, buffer.indices)
    for arc in range(end - begin):
        buffer.ends[arc] = (arc + 1) * size


@kernel
def score_features(read, kind, arcs, bits, weights, buffer, scores):
    """Add wᵀf of the arcs or pairs to scores, float64 [A]."""
    missing = len(weights.steps) - weights.label_row
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        _write(read, kind, arcs, begin, end, bits, missing, buffer)
        _add_weights(weights, buffer, begin, end, scores)


@kernel
def score_between(read, kind, arcs, bits, weights, buffer, scores):
    """Add the scores of templates with a `between` part."""
    for begin in range(0, len(scores), CHUNK):
        end = min(begin + CHUNK, len(scores))
        write_between(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, buffer.ends, FIRST)
        _add_weights(weights, buffer, begin, end, scores)


@kernel
def _add_rows(weights, row, first_row, indices, values, begin, end, sums, arc):
    """Add the features' rows of label weights to sums[arc], float [A, row].

    Four at a time, which saves loads and stores of sums.
    """
    # Unsigned places need no check for negative ones, so that the loops are vectorised.
    length, zero, at, real = np.uint64(row), np.uint64(first_row), np.uint64(arc), sums.dtype.type
    with_values = len(values) > 0
    a = b = c = d = real(1.0)
    fours = begin + (end - begin) // 4 * 4
    for k in range(begin, fours, 4):
        first = zero + np.uint64(indices[k]) * length
        second = zero + np.uint64(indices[k + 1]) * length
        third = zero + np.uint64(indices[k + 2]) * length
        fourth = zero + np.uint64(indices[k + 3]) * length
        if with_values:
            a, b, c, d = real(values[k]), real(values[k + 1]), real(values[k + 2]), real(values[k + 3])
        for label in range(length):
            # Evaluated from left to right: the same sum as one feature after the other.
            sums[at, label] = (
                sums[at, label]
                + real(weights[first + label]) * a
                + real(weights[second + label]) * b
                + real(weights[third + label]) * c
                + real(weights[fourth + label]) * d
            )
    for k in range(fours, end):
        first = zero + np.uint64(indices[k]) * length
        if with_values:
            a = real(values[k])
        for label in range(length):
            sums[at, label] += real(weights[first + label]) * a


@kernel
def _add_label_rows(weights, row, first_row, buffer, begin, end, sums):
    """Add the rows of the features in the buffer to the sums of arcs begin … end − 1, float [A, row]."""
    indices, values, ends = buffer.indices, buffer.values, buffer.ends
    line, at = CACHE_LINE // weights.itemsize, 0
    for k in range(ends[end - begin - 1]):
        block = first_row + indices[k] * row
        for place in range(block, block + row, line):
            prefetch(weights, place)
        if row % line > 1:
            # Where rows do not begin with a cache line.
            prefetch(weights, block + row - 1)
    for arc in range(begin, end):
        stop = ends[arc - begin]
        _add_rows(weights, row, first_row, indices, values, at, stop, sums, arc)
        at = stop


@kernel
def _add_labels(trees, read, kind, arcs, weights, buffer, sums):
    """Add the label weights of the features of a kind to sums, float [A, row]."""
    bits, first_row, row = trees.shape.label_bits, 1 << trees.shape.arc_bits, sums.shape[1]
    for begin in range(0, len(sums), CHUNK):
        end = min(begin + CHUNK, len(sums))
        if kind == LABELS_BETWEEN:
            write_between(read, kind, arcs, begin, end, bits, buffer.indices, buffer.values, buffer.ends, FIRST)
        else:
            _write(read, kind, arcs, begin, end, bits, 1 << bits, buffer)
        _add_label_rows(weights, row, first_row, buffer, begin, end, sums)


@kernel
def _add_labels_of_words(trees, read, kind, role, arcs, weights, buffer, sums):
    """`_add_labels` of a kind whose features are the same for all arcs of a word in this role in one direction."""
    place, first_arcs, n_words = np.full(2 * read.keys.shape[1], NONE, np.int64), np.empty_like(arcs), 0
    for arc in range(len(sums)):
        key = 2 * arcs[role, arc] + arcs[DIRECTION_ROW, arc] % 2
        if place[key] == NONE:
            place[key] = n_words
            for part in range(N_ARC_ROWS):
                first_arcs[part, n_words] = arcs[part, arc]
            n_words += 1
    of_words = np.zeros((n_words, sums.shape[1]), sums.dtype)
    _add_labels(trees, read, kind, first_arcs, weights, buffer, of_words)
    for arc in range(len(sums)):
        number = place[2 * arcs[role, arc] + arcs[DIRECTION_ROW, arc] % 2]
        for label in range(np.uint64(sums.shape[1])):
            sums[arc, label] += of_words[number, label]


@kernel
def _sum_labels(trees, read, arcs, weights, buffer, sums):
    """Add the label weights of all features of arcs between tokens to sums, float [A, row]."""
    _add_labels_of_words(trees, read, HEAD_LABELS, HEAD_ROW, arcs, weights, buffer, sums)
    _add_labels_of_words(trees, read, MODIFIER_LABELS, MODIFIER_ROW, arcs, weights, buffer, sums)
    _add_labels(trees, read, LABELS, arcs, weights, buffer, sums)
    _add_labels(trees, read, LABELS_BETWEEN, arcs, weights, buffer, sums)


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
def _arcs_between_tokens(arcs):
    """The numbers of the arcs that are not from the root, int64 [B], and their columns, int64 [N_ARC_ROWS, B]."""
    numbers, chosen, size = np.empty(arcs.shape[1], np.int64), np.empty_like(arcs), 0
    for arc in range(arcs.shape[1]):
        if arcs[HEAD_ROW, arc] != 0:
            for row in range(N_ARC_ROWS):
                chosen[row, size] = arcs[row, arc]
            numbers[size] = arc
            size += 1
    return numbers[:size], chosen


@kernel
def _score_arcs(trees, sentence, read, weights, loss_scale):
    """The candidate arcs of a sentence as `Parts`, scored without their labels, and as an arc array."""
    first, n = trees.columns.starts[sentence], trees.columns.starts[sentence + 1] - trees.columns.starts[sentence]
    parts = candidate_arcs(trees, sentence)
    heads, modifiers, scores, size = parts.heads, parts.modifiers, parts.scores, len(parts.heads)
    arcs = np.empty((N_ARC_ROWS, size), np.int64)
    for arc in range(size):
        describe_arc(arcs, arc, heads[arc], modifiers[arc], n + 1)
    bits, buffer = trees.shape.arc_bits, feature_buffer(trees.program, read, weights)
    score_features(read, ARCS, arcs, bits, weights, buffer, scores)
    score_between(read, ARCS_BETWEEN, arcs, bits, weights, buffer, scores)
    for arc in range(size):
        token = first + modifiers[arc] - 1
        if heads[arc] != trees.gold[token]:
            scores[arc] += loss_scale * trees.head_costs[token]
    return parts, arcs


@kernel
def score_labelled_arcs(trees, sentence, read, weights, loss_scale):
    """The scores, wᵀΦ + loss_scale · Δ, of all candidate arcs of a sentence, and of all labels of these arcs.

    Returns the arcs, scored without their labels, as `Parts`, and the label scores, float64 [A, L], FORBIDDEN where an
    arc cannot have a label; [0, 1] where there is one label only.
    """
    first, n_labels = trees.columns.starts[sentence], trees.shape.n_labels
    parts, arcs = _score_arcs(trees, sentence, read, weights, loss_scale)
    label_scores = np.full((arcs.shape[1] if n_labels > 1 else 0, n_labels), FORBIDDEN)
    if n_labels == 1:
        return parts, label_scores
    numbers, between = _arcs_between_tokens(arcs)
    buffer = feature_buffer(trees.program, read, weights)
    if len(weights.steps):
        in_steps = np.zeros((len(numbers), weights.label_row), np.float32)
        _sum_labels(trees, read, between, weights.steps, buffer, in_steps)
        for k in range(len(numbers)):
            for label in range(ROOT_LABEL + 1, n_labels):
                label_scores[numbers[k], label] = weights.label_step * in_steps[k, label]
    else:
        sums = np.zeros((len(numbers), n_labels))
        _sum_labels(trees, read, between, weights.double, buffer, sums)
        for k in range(len(numbers)):
            label_scores[numbers[k], ROOT_LABEL + 1 :] = sums[k, ROOT_LABEL + 1 :]
    for arc in range(len(label_scores)):
        token = first + parts.modifiers[arc] - 1
        cost, gold = loss_scale * trees.label_costs[token], trees.gold_labels[token]
        if parts.heads[arc] == 0:
            # Labels of arcs from the root have no features of their own.
            label_scores[arc, ROOT_LABEL] = cost if gold != ROOT_LABEL else 0.0
        elif cost != 0.0:
            for label in range(ROOT_LABEL + 1, n_labels):
                if label != gold:
                    label_scores[arc, label] += cost
    return parts, label_scores


@kernel
def score_best_labels(trees, sentence, read, weights, loss_scale):
    """`score_labelled_arcs`, but with the score of each arc's best label added to its own.

    Returns the arcs as `Parts`, and the best labels, int32 [A].
    """
    n_labels = trees.shape.n_labels
    if n_labels > 1 and len(weights.steps) and loss_scale == 0.0:
        # The same labels and sums as below, without their scores as real numbers.
        parts, arcs = _score_arcs(trees, sentence, read, weights, loss_scale)
        best_labels = np.full(len(parts.heads), ROOT_LABEL, np.int32)
        numbers, between = _arcs_between_tokens(arcs)
        sums = np.zeros((len(numbers), weights.label_row), np.float32)
        _sum_labels(trees, read, between, weights.steps, feature_buffer(trees.program, read, weights), sums)
        for k in range(len(sums)):
            best, highest = np.uint64(ROOT_LABEL + 1), sums[k, ROOT_LABEL + 1]
            for label in range(np.uint64(ROOT_LABEL + 2), np.uint64(n_labels)):
                if sums[k, label] > highest:
                    best, highest = label, sums[k, label]
            best_labels[numbers[k]] = best
            parts.scores[numbers[k]] += weights.label_step * highest
        return parts, best_labels
    parts, label_scores = score_labelled_arcs(trees, sentence, read, weights, loss_scale)
    best_labels = np.full(len(parts.heads), ROOT_LABEL, np.int32)
    for arc in range(len(label_scores)):
        best = 0
        for label in range(1, n_labels):
            if label_scores[arc, label] > label_scores[arc, best]:
                best = label
        best_labels[arc] = best
        parts.scores[arc] += label_scores[arc, best]
    return parts, best_labels


@kernel
def add_siblings(trees, read, parts, weights):
    """Parts with all pairs of neighbouring siblings, besides the given ones; a single root has no siblings."""
    n, size = len(parts.number) - 1, len(parts.heads)
    starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 1
        if h != 0 or trees.shape.multi_root:
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
        if h == 0 and not trees.shape.multi_root:
            continue
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                siblings[k] = parts.number[h, s]
                describe_arc(pairs, k, h, m, s)
                k += 1
    score_features(
        read, SIBLINGS, pairs, trees.shape.arc_bits, weights, feature_buffer(trees.program, read, weights), scores
    )
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
        read, GRANDPARENTS, pairs, trees.shape.arc_bits, weights, feature_buffer(trees.program, read, weights), scores
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
