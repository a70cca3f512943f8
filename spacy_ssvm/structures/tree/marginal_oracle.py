"""The marginal oracle of first-order trees: L_{β,γ} of a sentence and its gradient (Martins et al. 2010, §3.1)."""

import math

import numpy as np

from ...features.arc_hashing import (
    ARCS,
    ARCS_BETWEEN,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...kernels import kernel
from .data import PROJECTIVE, Trees
from .inside_outside import projective_marginals
from .matrix_tree import tree_marginals
from .parts import FORBIDDEN
from .scores import dense_scores, describe_arc, score_labelled_arcs
from .weights import learnt

NEGLIGIBLE = 1e-12
"""Probabilities below this are left out of gradients: a hundredth of what sums of them are rounded by."""


@kernel
def sum_out_labels(parts, label_scores, beta):
    """Bring scores to β times their sum over labels, and label_scores to the labels' probabilities given the arc."""
    parts.scores[:] *= beta
    for arc in range(len(label_scores)):
        row = label_scores[arc]
        highest = np.max(row)
        total = 0.0
        for label in range(len(row)):
            row[label] = math.exp(beta * (row[label] - highest)) if row[label] > FORBIDDEN / 2 else 0.0
            total += row[label]
        row /= total
        parts.scores[arc] += beta * highest + math.log(total)


@kernel
def _write_label(trees, read, arcs, arc, label, gradient, indices, values, at):
    """Features of one label of an arc, times `gradient`, as `feature_difference` writes them."""
    begin, bits = at, trees.shape.label_bits
    ends = np.empty(1, np.int64)
    at = write_features(read, LABELS, arcs, arc, arc + 1, bits, indices, values, at)
    at = write_features(read, HEAD_LABELS, arcs, arc, arc + 1, bits, indices, values, at)
    at = write_features(read, MODIFIER_LABELS, arcs, arc, arc + 1, bits, indices, values, at)
    at = write_between(read, LABELS_BETWEEN, arcs, arc, arc + 1, bits, indices, values, ends, at)
    for k in range(begin, at):
        indices[k] = (1 << trees.shape.arc_bits) + indices[k] * trees.shape.n_labels + label
        values[k] *= gradient
    return at


@kernel
def marginal_oracle(data, example, weights, beta, gamma, indices, values):
    """−∇L_{β,γ}(w) = Φ(x_i, y_i) − E[Φ(x_i, y)], in pairs that may repeat, y ~ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))).

    data: `DecodedTrees`. Returns the number of entries and L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))).
    """
    trees = data.trees
    first, n = trees.columns.starts[example], trees.columns.starts[example + 1] - trees.columns.starts[example]
    read = read_sentence(trees.columns, trees.program, example)
    with_labels = trees.shape.n_labels > 1
    parts, label_scores = score_labelled_arcs(trees, example, read, learnt(weights), gamma)
    gold_score = 0.0
    for m in range(1, n + 1):
        arc = parts.number[trees.gold[first + m - 1], m]
        gold_score += parts.scores[arc]
        if with_labels:
            gold_score += label_scores[arc, trees.gold_labels[first + m - 1]]
    sum_out_labels(parts, label_scores, beta)
    marginals = np.empty((n + 1, n + 1))
    if trees.shape.structure == PROJECTIVE:
        log_partition = projective_marginals(dense_scores(parts), trees.shape.multi_root, marginals)
    else:
        log_partition = tree_marginals(dense_scores(parts), trees.shape.multi_root, marginals)
    arcs, ends = np.empty((5, len(parts.heads)), np.int64), np.empty(1, np.int64)
    bits, at = trees.shape.arc_bits, 0
    for arc in range(len(parts.heads)):
        h, m = parts.heads[arc], parts.modifiers[arc]
        describe_arc(arcs, arc, h, m, n + 1)
        is_gold = h == trees.gold[first + m - 1]
        gradient = (1.0 if is_gold else 0.0) - marginals[h, m]
        if abs(gradient) > NEGLIGIBLE:
            begin = at
            at = write_features(read, ARCS, arcs, arc, arc + 1, bits, indices, values, at)
            at = write_between(read, ARCS_BETWEEN, arcs, arc, arc + 1, bits, indices, values, ends, at)
            for k in range(begin, at):
                values[k] *= gradient
        for label in range(trees.shape.n_labels if with_labels and h != 0 else 0):
            gold_label = is_gold and label == trees.gold_labels[first + m - 1]
            gradient = (1.0 if gold_label else 0.0) - marginals[h, m] * label_scores[arc, label]
            if abs(gradient) > NEGLIGIBLE:
                at = _write_label(trees, read, arcs, arc, label, gradient, indices, values, at)
    return at, max(0.0, log_partition / beta - gold_score)


def max_gradient_entries(trees: Trees) -> int:
    """An upper bound of the entries that the marginal oracle writes for any sentence."""
    starts = trees.columns.starts
    n_arcs = np.diff(trees.candidate_starts[starts])
    bound = max_features(trees.program, np.diff(starts))
    return int(np.max(n_arcs * trees.shape.n_labels * bound, initial=0))
