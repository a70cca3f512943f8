"""The max-oracle of trees: the most violated labelled tree of a sentence as a plane."""

import numpy as np

from ...features.arc_hashing import read_sentence, write_between, write_features
from ...kernels import kernel
from .data import (
    INDEPENDENT,
    LOOPY,
    PROJECTIVE,
    PROJECTIVE_GRANDPARENTS,
    PROJECTIVE_SIBLINGS,
    ROOT_LABEL,
    SPANNING,
)
from .loopy import loopy_decode
from .parts import NONE
from .projective import eisner
from .projective_grandparents import eisner_grandparents
from .projective_siblings import eisner_siblings
from .scores import add_grandparents, add_siblings, dense_scores, describe_arc, describe_grand, score_parts
from .spanning import maximum_spanning_tree

LOOPY_ITERATIONS, LOOPY_TOLERANCE = 10, 1e-3


@kernel
def has_siblings(structure):
    """Whether a structure scores pairs of neighbouring siblings."""
    return structure in (PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, LOOPY)


@kernel
def has_grandparents(structure):
    """Whether a structure scores pairs of an arc and the arc above it."""
    return structure in (PROJECTIVE_GRANDPARENTS, LOOPY)


@kernel
def best_heads(parts, heads):
    """Each modifier's best head by itself, which need not make a tree."""
    heads[0] = NONE
    best = np.full(len(heads), -np.inf)
    for arc in range(len(parts.heads)):
        m = parts.modifiers[arc]
        if parts.scores[arc] > best[m]:
            best[m] = parts.scores[arc]
            heads[m] = parts.heads[arc]


@kernel
def decode(trees, sentence, read, weights, loss_scale, heads, labels):
    """argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y): heads int32 [n + 1], heads[0] = −1, and labels int32 [n + 1].

    Exact but for LOOPY.
    """
    structure, multi_root = trees.shape.structure, trees.shape.multi_root
    with_labels = trees.shape.n_labels > 1
    parts, best_labels = score_parts(trees, sentence, read, weights, loss_scale, with_labels)
    if has_siblings(structure):
        parts = add_siblings(trees, read, parts, weights)
    if has_grandparents(structure):
        parts = add_grandparents(trees, sentence, read, parts, weights)
    if structure == INDEPENDENT:
        best_heads(parts, heads)
    elif structure == PROJECTIVE:
        eisner(dense_scores(parts), multi_root, heads)
    elif structure == PROJECTIVE_SIBLINGS:
        eisner_siblings(parts, multi_root, heads)
    elif structure == PROJECTIVE_GRANDPARENTS:
        eisner_grandparents(parts, multi_root, heads)
    elif structure == SPANNING:
        maximum_spanning_tree(dense_scores(parts), multi_root, heads)
    elif structure == LOOPY:
        loopy_decode(parts, multi_root, LOOPY_ITERATIONS, LOOPY_TOLERANCE, heads)
    labels[0] = ROOT_LABEL
    for m in range(1, len(heads)):
        arc = parts.number[heads[m], m]
        labels[m] = best_labels[arc] if arc != NONE else ROOT_LABEL


@kernel
def _inner_neighbour(heads, modifier):
    """The sibling next to a modifier on the way to its head, on the same side; n + 1 where there is none."""
    head = heads[modifier]
    step = 1 if head > modifier else -1
    node = modifier + step
    while node != head:
        if heads[node] == head:
            return node
        node += step
    return len(heads)


@kernel
def _tree_features(trees, read, heads, others, sign, indices, values, at):
    """Features of the parts of one tree that the other one has not, with this sign."""
    structure, bits, begin = trees.shape.structure, trees.shape.arc_bits, at
    nobody = len(heads)
    arc, ends = np.empty((5, 1), np.int64), np.empty(1, np.int64)
    for m in range(1, len(heads)):
        h = heads[m]
        same = h == others[m]
        if not same:
            describe_arc(arc, 0, h, m, nobody)
            at = write_features(read.arcs, arc, 0, 1, bits, indices, values, at)
            at = write_between(
                read.arcs_between, read.between, read.previous, arc, 0, 1, bits, indices, values, ends, at
            )
        if has_siblings(structure):
            s = _inner_neighbour(heads, m)
            if not same or s != _inner_neighbour(others, m):
                describe_arc(arc, 0, h, m, s)
                at = write_features(read.siblings, arc, 0, 1, bits, indices, values, at)
        if has_grandparents(structure) and h != 0 and (not same or heads[h] != others[h]):
            describe_grand(arc, 0, heads[h], h, m)
            at = write_features(read.grandparents, arc, 0, 1, bits, indices, values, at)
    for k in range(begin, at):
        values[k] *= sign
    return at


@kernel
def _label_features(trees, read, heads, labels, others, other_labels, sign, indices, values, at):
    """Features of the labels of one tree where the other one's arc or label differs, with this sign."""
    n_labels, first_row = trees.shape.n_labels, 1 << trees.shape.arc_bits
    bits, nobody = trees.shape.label_bits, len(heads)
    arc, ends = np.empty((5, 1), np.int64), np.empty(1, np.int64)
    for m in range(1, len(heads)):
        head, label = heads[m], labels[m]
        if head == 0 or (head == others[m] and label == other_labels[m]):
            continue
        begin = at
        describe_arc(arc, 0, head, m, nobody)
        at = write_features(read.labels, arc, 0, 1, bits, indices, values, at)
        at = write_features(read.head_labels, arc, 0, 1, bits, indices, values, at)
        at = write_features(read.modifier_labels, arc, 0, 1, bits, indices, values, at)
        at = write_between(read.labels_between, read.between, read.previous, arc, 0, 1, bits, indices, values, ends, at)
        for k in range(begin, at):
            indices[k] = first_row + indices[k] * n_labels + label
            values[k] *= sign
    return at


@kernel
def feature_difference(trees, sentence, read, heads, labels, indices, values):
    """ΔΦ = Φ(x_i, y_i) − Φ(x_i, y) for heads and labels int32 [n + 1], as (index, value) pairs that may repeat.

    Returns the number of entries written and the loss Δ(y_i, y).
    """
    first = trees.columns.starts[sentence]
    gold_heads, gold_labels = np.empty_like(heads), np.empty_like(labels)
    gold_heads[0], gold_labels[0] = NONE, ROOT_LABEL
    loss = 0.0
    with_labels = trees.shape.n_labels > 1
    for m in range(1, len(heads)):
        token = first + m - 1
        gold_heads[m], gold_labels[m] = trees.gold[token], trees.gold_labels[token]
        if heads[m] != gold_heads[m]:
            loss += trees.head_costs[token]
        if with_labels and labels[m] != gold_labels[m]:
            loss += trees.label_costs[token]
    at = _tree_features(trees, read, gold_heads, heads, 1.0, indices, values, 0)
    at = _tree_features(trees, read, heads, gold_heads, -1.0, indices, values, at)
    if with_labels:
        at = _label_features(trees, read, gold_heads, gold_labels, heads, labels, 1.0, indices, values, at)
        at = _label_features(trees, read, heads, labels, gold_heads, gold_labels, -1.0, indices, values, at)
    return at, loss


@kernel
def max_oracle(trees, example, weights, loss_scale, indices, values):
    """The plane of argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), in pairs that may repeat.

    Chang & Yih 2013, equation 3; with loss_scale 0 this is plain decoding.
    Returns the number of entries and the (unscaled) loss.
    """
    n = trees.columns.starts[example + 1] - trees.columns.starts[example]
    read = read_sentence(trees.columns, trees.program, example)
    heads, labels = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    decode(trees, example, read, weights, loss_scale, heads, labels)
    return feature_difference(trees, example, read, heads, labels, indices, values)
