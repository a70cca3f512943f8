"""Scores of a sentence's candidate arcs, their best labels, and pairs of arcs."""

import numpy as np

from ...features.arc_hashing import arc_direction, arc_features, distance_bin, most_features
from ...kernels import kernel
from .data import ROOT_LABEL
from .parts import FORBIDDEN, NONE, Parts


@kernel
def gather(weights, indices, values, size):
    """Σ of weights at hashed features."""
    total = 0.0
    for k in range(size):
        total += weights[indices[k]] * values[k]
    return total


@kernel
def feature_room(trees, n):
    """Indices int64 and values float64 with room for what `arc_features` writes of any part of a sentence."""
    program = trees.program
    most = max(
        most_features(program.arcs, n),
        most_features(program.labels, n),
        most_features(program.siblings, n),
        most_features(program.grandparents, n),
        1,
    )
    return np.empty(most, np.int64), np.empty(most)


@kernel
def sibling_features(trees, words, head, modifier, inner, indices, values, at):
    """Features of an arc and its inner neighbour (a node, n + 1 for none)."""
    bits = trees.shape.arc_bits
    direction, distance = arc_direction(head, modifier), distance_bin(head, modifier)
    return arc_features(
        trees.program.siblings, words, head, modifier, inner, direction, distance, bits, indices, values, at
    )


@kernel
def grand_features(trees, words, grand, head, modifier, indices, values, at):
    """Features of the arcs (grand, head) and (head, modifier)."""
    bits = trees.shape.arc_bits
    direction = 9 * arc_direction(grand, head) + 3 * arc_direction(head, modifier) + (1 if grand < modifier else 0)
    distance = distance_bin(head, modifier)
    return arc_features(
        trees.program.grandparents, words, head, modifier, grand, direction, distance, bits, indices, values, at
    )


@kernel
def single_features(templates, words, head, modifier, bits, indices, values, at):
    """Features of an arc by itself."""
    nobody = len(words.keys) - 1
    direction, distance = arc_direction(head, modifier), distance_bin(head, modifier)
    return arc_features(templates, words, head, modifier, nobody, direction, distance, bits, indices, values, at)


@kernel
def score_labels(trees, words, head, modifier, weights, indices, values, scores):
    """The scores of all labels of one arc into `scores`, float64 [L]; ROOT_LABEL is set for no arc but the root's."""
    n_labels = trees.shape.n_labels
    scores[:] = 0.0
    if head == 0:
        scores[:] = FORBIDDEN
        scores[ROOT_LABEL] = 0.0
        return
    size = single_features(trees.program.labels, words, head, modifier, trees.shape.label_bits, indices, values, 0)
    labels_behind = 1 << trees.shape.arc_bits
    for k in range(size):
        block = labels_behind + indices[k] * n_labels
        value = values[k]
        row = weights[block : block + n_labels]
        for label in range(n_labels):
            scores[label] += row[label] * value
    scores[ROOT_LABEL] = FORBIDDEN


@kernel
def score_parts(trees, sentence, words, weights, loss_scale, with_labels):
    """All `Parts` of a sentence with wᵀΦ + loss_scale · Δ of each arc under its best label, and these labels.

    with_labels: whether labels are scored at all. Returns the parts and int32 [A].
    """
    first, behind = trees.columns.starts[sentence], trees.columns.starts[sentence + 1]
    n = behind - first
    shape, program = trees.shape, trees.program
    begin = trees.candidate_starts[first]
    size = trees.candidate_starts[behind] - begin
    number = np.full((n + 1, n + 1), NONE, np.int32)
    heads, modifiers = np.empty(size, np.int32), np.empty(size, np.int32)
    scores, labels = np.empty(size), np.zeros(size, np.int32)
    label_scores = np.empty(shape.n_labels)
    indices, values = feature_room(trees, n)
    for m in range(1, n + 1):
        token = first + m - 1
        for c in range(trees.candidate_starts[token], trees.candidate_starts[token + 1]):
            arc, h = c - begin, trees.candidates[c]
            number[h, m] = arc
            heads[arc], modifiers[arc] = h, m
            found = single_features(program.arcs, words, h, m, shape.arc_bits, indices, values, 0)
            score = gather(weights, indices, values, found)
            if h != trees.gold[token]:
                score += loss_scale * trees.head_costs[token]
            if with_labels:
                score_labels(trees, words, h, m, weights, indices, values, label_scores)
                cost = loss_scale * trees.label_costs[token]
                if cost != 0.0:
                    for label in range(shape.n_labels):
                        if label != trees.gold_labels[token]:
                            label_scores[label] += cost
                labels[arc] = np.argmax(label_scores)
                score += label_scores[labels[arc]]
            scores[arc] = score
    return Parts(
        number,
        heads,
        modifiers,
        scores,
        np.zeros(size + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.float64),
        np.zeros(size + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.float64),
    ), labels


@kernel
def add_siblings(trees, words, parts, weights):
    """The same parts with all pairs of neighbouring siblings."""
    n = len(parts.number) - 1
    starts = np.zeros(len(parts.heads) + 1, np.int64)
    for arc in range(len(parts.heads)):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 1
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                count += 1
        starts[arc + 1] = starts[arc] + count
    siblings, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    indices, values = feature_room(trees, n)
    for arc in range(len(parts.heads)):
        h, m = parts.heads[arc], parts.modifiers[arc]
        k = starts[arc]
        found = sibling_features(trees, words, h, m, n + 1, indices, values, 0)
        siblings[k], scores[k] = NONE, gather(weights, indices, values, found)
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                k += 1
                found = sibling_features(trees, words, h, m, s, indices, values, 0)
                siblings[k], scores[k] = parts.number[h, s], gather(weights, indices, values, found)
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
def add_grandparents(trees, words, parts, weights):
    """The same parts with all pairs of an arc and the arc above it."""
    n = len(parts.number) - 1
    starts = np.zeros(len(parts.heads) + 1, np.int64)
    for arc in range(len(parts.heads)):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 0
        if h != 0:
            for g in range(n + 1):
                if g != m and parts.number[g, h] != NONE:
                    count += 1
        starts[arc + 1] = starts[arc] + count
    grands, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    indices, values = feature_room(trees, n)
    for arc in range(len(parts.heads)):
        h, m = parts.heads[arc], parts.modifiers[arc]
        k = starts[arc]
        if h != 0:
            for g in range(n + 1):
                if g != m and parts.number[g, h] != NONE:
                    found = grand_features(trees, words, g, h, m, indices, values, 0)
                    grands[k], scores[k] = parts.number[g, h], gather(weights, indices, values, found)
                    k += 1
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


@kernel
def dense_scores(parts):
    """The arcs' scores as a matrix float64 [n + 1, n + 1], FORBIDDEN where there is no candidate."""
    n = len(parts.number) - 1
    scores = np.full((n + 1, n + 1), FORBIDDEN)
    for arc in range(len(parts.heads)):
        scores[parts.heads[arc], parts.modifiers[arc]] = parts.scores[arc]
    return scores
