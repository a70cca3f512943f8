"""Scores of a sentence's candidate arcs, their best labels, and pairs of arcs."""

import numpy as np

from ...features.arc_hashing import (
    arc_direction,
    arc_features,
    distance_bin,
    most_features,
    pair_features,
    pair_states,
)
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
def feature_room(program, n):
    """Indices int64 and values float64 with room for the features of any arc or pair of a sentence of n tokens."""
    most = max(most_features(program.arcs, n), most_features(program.labels, n))
    for templates in (program.head_labels, program.modifier_labels, program.siblings, program.grandparents):
        most = max(most, most_features(templates, n))
    return np.empty(most + 1, np.int64), np.empty(most + 1)


@kernel
def sibling_states(program, words, head, modifier):
    """What `pair_features` takes for an arc and its inner neighbour."""
    size = len(program.siblings.seeds)
    states, values = np.empty(size, np.uint64), np.empty(size)
    direction, distance = arc_direction(head, modifier), distance_bin(head, modifier)
    pair_states(program.siblings, words, head, modifier, direction, distance, states, values)
    return states, values


@kernel
def grand_states(program, words, grand_left, head, modifier):
    """What `pair_features` takes for an arc and the arc above it; grand_left: whether that comes from the left.

    The direction is that of both arcs; whether the arc above comes from the root is known from the third word.
    """
    size = len(program.grandparents.seeds)
    states, values = np.empty(size, np.uint64), np.empty(size)
    direction = 2 * arc_direction(head, modifier) + (1 if grand_left else 0)
    pair_states(program.grandparents, words, head, modifier, direction, distance_bin(head, modifier), states, values)
    return states, values


@kernel
def _add_labels(templates, words, head, modifier, trees, weights, indices, values, scores):
    size = arc_features(templates, words, head, modifier, trees.shape.label_bits, indices, values, 0)
    n_labels, behind = trees.shape.n_labels, 1 << trees.shape.arc_bits
    for k in range(size):
        block = behind + indices[k] * n_labels
        row, value = weights[block : block + n_labels], values[k]
        for label in range(n_labels):
            scores[label] += row[label] * value


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
    indices, values = feature_room(program, n)
    n_labels = shape.n_labels if with_labels else 0
    # By direction: what a head and a modifier by themselves say about the label.
    of_head, of_modifier = np.zeros((n + 1, 2, n_labels)), np.zeros((2, n_labels))
    is_known = np.zeros((n + 1, 2), np.bool_)
    label_scores = np.empty(n_labels)
    for m in range(1, n + 1):
        token = first + m - 1
        of_modifier[:] = 0.0
        is_scored = np.zeros(2, np.bool_)
        for c in range(trees.candidate_starts[token], trees.candidate_starts[token + 1]):
            arc, h = c - begin, trees.candidates[c]
            number[h, m] = arc
            heads[arc], modifiers[arc] = h, m
            found = arc_features(program.arcs, words, h, m, shape.arc_bits, indices, values, 0)
            score = gather(weights, indices, values, found)
            if h != trees.gold[token]:
                score += loss_scale * trees.head_costs[token]
            if with_labels:
                cost = loss_scale * trees.label_costs[token]
                if h == 0:
                    labels[arc] = ROOT_LABEL
                    score += cost if trees.gold_labels[token] != ROOT_LABEL else 0.0
                else:
                    way = 1 if h < m else 0
                    if not is_known[h, way]:
                        is_known[h, way] = True
                        _add_labels(program.head_labels, words, h, m, trees, weights, indices, values, of_head[h, way])
                    if not is_scored[way]:
                        is_scored[way] = True
                        _add_labels(
                            program.modifier_labels, words, h, m, trees, weights, indices, values, of_modifier[way]
                        )
                    label_scores[:] = of_head[h, way] + of_modifier[way]
                    _add_labels(program.labels, words, h, m, trees, weights, indices, values, label_scores)
                    best, chosen = -np.inf, ROOT_LABEL
                    for label in range(ROOT_LABEL + 1, n_labels):
                        augmented = label_scores[label] + (cost if label != trees.gold_labels[token] else 0.0)
                        if augmented > best:
                            best, chosen = augmented, label
                    labels[arc] = chosen
                    score += best
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
    n, size = len(parts.number) - 1, len(parts.heads)
    program, bits = trees.program, trees.shape.arc_bits
    starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 1
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                count += 1
        starts[arc + 1] = starts[arc] + count
    siblings, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    indices, values = feature_room(program, n)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        states, state_values = sibling_states(program, words, h, m)
        k = starts[arc]
        found = pair_features(program.siblings, words, n + 1, states, state_values, bits, indices, values, 0)
        siblings[k], scores[k] = NONE, gather(weights, indices, values, found)
        for s in range(min(h, m) + 1, max(h, m)):
            if parts.number[h, s] != NONE:
                k += 1
                found = pair_features(program.siblings, words, s, states, state_values, bits, indices, values, 0)
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
def add_grandparents(trees, sentence, words, parts, weights):
    """The same parts with all pairs of an arc and the arc above it."""
    n, size = len(parts.number) - 1, len(parts.heads)
    program, bits = trees.program, trees.shape.arc_bits
    first = trees.columns.starts[sentence]
    begin = trees.candidate_starts[first]
    # Arcs are numbered as candidates are: those to h are above[h − 1] … above[h] − 1.
    above = trees.candidate_starts[first : first + n + 1] - begin
    starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        count = 0
        if h != 0:
            count = above[h] - above[h - 1] - (1 if parts.number[m, h] != NONE else 0)
        starts[arc + 1] = starts[arc] + count
    grands, scores = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    indices, values = feature_room(program, n)
    for arc in range(size):
        h, m = parts.heads[arc], parts.modifiers[arc]
        if h == 0:
            continue
        k = starts[arc]
        left_states, left_values = grand_states(program, words, True, h, m)
        right_states, right_values = grand_states(program, words, False, h, m)
        for upper in range(above[h - 1], above[h]):
            g = parts.heads[upper]
            if g == m:
                continue
            if g < m:
                found = pair_features(
                    program.grandparents, words, g, left_states, left_values, bits, indices, values, 0
                )
            else:
                found = pair_features(
                    program.grandparents, words, g, right_states, right_values, bits, indices, values, 0
                )
            grands[k], scores[k] = upper, gather(weights, indices, values, found)
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
