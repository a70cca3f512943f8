"""The cliques of trees whose arcs are scored one by one, for solvers that keep a distribution over each example's.

An example of A candidate arcs and L labels has A · L cliques: one for each arc with each label.
"""

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    N_ARC_ROWS,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...kernels import kernel
from ...structures.tree.kbest import sum_out_labels
from ...structures.tree.parts import PROJECTIVE, ROOT_LABEL, dense_scores
from ...structures.tree.projective import projective_marginals
from ...structures.tree.spanning import tree_marginals
from .data import Trees, double_precision
from .scores import candidate_arcs, describe_arc, score_labelled_arcs


def sizes(trees: Trees) -> np.ndarray:
    """The number of cliques of each example, int64 [n]."""
    found: np.ndarray = trees.shape.n_labels * np.diff(trees.candidate_starts[trees.columns.starts])
    return found


@kernel
def score(data, example, weights, scores, costs, wrong):
    """See `Cliques.score`; data: `DecodedTrees`."""
    trees = data.trees
    first, n_labels = trees.columns.starts[example], trees.shape.n_labels
    read = read_sentence(trees.columns, trees.program, example)
    parts, label_scores = score_labelled_arcs(trees, example, read, double_precision(weights), 0.0)
    for arc in range(len(parts.heads)):
        token = first + parts.modifiers[arc] - 1
        other_head = parts.heads[arc] != trees.gold[token]
        head_cost = trees.head_costs[token] if other_head else 0.0
        for label in range(n_labels):
            k = arc * n_labels + label
            scores[k], costs[k], wrong[k] = parts.scores[arc], head_cost, 1.0 if other_head else 0.0
            if n_labels > 1:
                scores[k] += label_scores[arc, label]
                if label != trees.gold_labels[token]:
                    costs[k] += trees.label_costs[token]
                    wrong[k] = 1.0


@kernel
def infer(data, example, scores, surplus):
    """See `Cliques.infer`; data: `DecodedTrees`."""
    trees = data.trees
    first, n_labels = trees.columns.starts[example], trees.shape.n_labels
    n = trees.columns.starts[example + 1] - first
    parts, with_labels = candidate_arcs(trees, example), n_labels > 1
    labels = scores.copy().reshape(len(parts.heads), n_labels)
    if not with_labels:
        parts.scores[:] = scores
    sum_out_labels(parts, labels if with_labels else labels[:0], 1.0)
    marginals = np.empty((n + 1, n + 1))
    if trees.shape.structure == PROJECTIVE:
        loss = projective_marginals(dense_scores(parts), trees.shape.multi_root, marginals)
    else:
        loss = tree_marginals(dense_scores(parts), trees.shape.multi_root, marginals)
    for arc in range(len(parts.heads)):
        marginal = marginals[parts.heads[arc], parts.modifiers[arc]]
        for label in range(n_labels):
            surplus[arc * n_labels + label] = marginal * labels[arc, label] if with_labels else marginal
    for m in range(1, n + 1):
        gold = parts.number[trees.gold[first + m - 1], m] * n_labels
        if with_labels:
            gold += trees.gold_labels[first + m - 1]
        loss -= scores[gold]
        surplus[gold] -= 1.0
    return loss


@kernel
def _add(weights, step, indices, values, end):
    """w ← w + step · Φ of these features. Returns the rise of ½‖w‖²."""
    rise = 0.0
    for k in range(end):
        change, weight = step * values[k], weights[indices[k]]
        rise += change * (weight + change / 2.0)
        weights[indices[k]] = weight + change
    return rise


@kernel
def move(data, example, weights, steps):
    """See `Cliques.move`; data: `DecodedTrees`."""
    trees = data.trees
    n_labels, first_row = trees.shape.n_labels, 1 << trees.shape.arc_bits
    n = trees.columns.starts[example + 1] - trees.columns.starts[example]
    read, parts = read_sentence(trees.columns, trees.program, example), candidate_arcs(trees, example)
    arcs, ends = np.empty((N_ARC_ROWS, len(parts.heads)), np.int64), np.empty(1, np.int64)
    size, bits = max_features(trees.program, n), trees.shape.label_bits
    indices, values, rise = np.empty(size, np.int64), np.empty(size), 0.0
    for arc in range(len(parts.heads)):
        describe_arc(arcs, arc, parts.heads[arc], parts.modifiers[arc], n + 1)
        of_labels, one = steps[arc * n_labels : (arc + 1) * n_labels], arc + 1
        total = of_labels.sum()
        if total != 0.0:
            at = write_features(read, ARCS, arcs, arc, one, trees.shape.arc_bits, indices, values, 0)
            at = write_between(read, ARCS_BETWEEN, arcs, arc, one, trees.shape.arc_bits, indices, values, ends, at)
            rise += _add(weights, total, indices, values, at)
        if n_labels == 1 or parts.heads[arc] == 0 or not of_labels.any():
            continue
        at = write_features(read, LABELS, arcs, arc, one, bits, indices, values, 0)
        at = write_features(read, HEAD_LABELS, arcs, arc, one, bits, indices, values, at)
        at = write_features(read, MODIFIER_LABELS, arcs, arc, one, bits, indices, values, at)
        at = write_between(read, LABELS_BETWEEN, arcs, arc, one, bits, indices, values, ends, at)
        for k in range(at):
            indices[k] = first_row + indices[k] * n_labels
        for label in range(ROOT_LABEL + 1, n_labels):
            if of_labels[label] != 0.0:
                rise += _add(weights[label:], of_labels[label], indices, values, at)
    return rise
