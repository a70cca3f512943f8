"""The oracles of trees: planes of the most violated and of the k best ones."""

from typing import Annotated, NamedTuple

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    FIRST,
    GRANDPARENTS,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    N_ARC_ROWS,
    SIBLINGS,
    Sentence,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...kernels import FirstClassFunction, Int32Array, kernel, signature
from ...solvers.problem import Cliques, Corrections, Extent, Problem, Rates, min_cost
from ...structures.tree.kbest import eisner_kbest, labelled_kbest, spanning_kbest
from ...structures.tree.parts import (
    NONE,
    PROJECTIVE,
    ROOT_LABEL,
    SPANNING,
    SPANNING_GRANDPARENTS,
    dense_scores,
    has_grandparents,
    has_siblings,
)
from . import cliques
from .data import Trees, WeightVector, dimension, double_precision, plane_entries
from .scores import add_grandparents, add_siblings, describe_arc, describe_grand, score_best_labels, score_labelled_arcs


@kernel
def _decode(trees, sentence, read, weights, loss_scale, heads, labels):
    structure = trees.shape.structure
    parts, best_labels = score_best_labels(trees, sentence, read, weights, loss_scale)
    if has_siblings(structure):
        parts = add_siblings(trees, read, parts, weights)
    if has_grandparents(structure):
        parts = add_grandparents(trees, sentence, read, parts, weights)
    trees.decoder(parts, trees.shape.multi_root, heads)
    labels[0] = ROOT_LABEL
    for m in range(1, len(heads)):
        arc = parts.number[heads[m], m]
        labels[m] = best_labels[arc] if arc != NONE else ROOT_LABEL


DECODE = signature(None, Trees, int, Sentence, WeightVector, float, Int32Array, Int32Array)

decode = FirstClassFunction(_decode, DECODE)
"""argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), exact except for SPANNING_GRANDPARENTS: (trees, sentence number
i, its `Sentence`, weights, loss_scale, heads int32 [n + 1], labels int32 [n + 1]) → None. Heads and labels, initially
0, are output; heads[0] = −1."""


class DecodedTrees(NamedTuple):
    """Trees with their decoding function, which is most of a parser's code and is compiled once for all kernels."""

    trees: Trees
    decode: Annotated[FirstClassFunction, DECODE]


@kernel
def _inner_neighbour(heads, modifier):
    """The next sibling between a modifier and its head; n + 1 if there is none."""
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
    """Write the features of the parts that are in the first tree but not in the other one, times sign."""
    structure, bits, begin = trees.shape.structure, trees.shape.arc_bits, at
    nobody = len(heads)
    arcs, ends = np.empty((N_ARC_ROWS, len(heads)), np.int64), np.empty(len(heads), np.int64)
    n_arcs = 0
    for m in range(1, len(heads)):
        if heads[m] != others[m]:
            describe_arc(arcs, n_arcs, heads[m], m, nobody)
            n_arcs += 1
    at = write_features(read, ARCS, arcs, FIRST, n_arcs, bits, indices, values, at)
    at = write_between(read, ARCS_BETWEEN, arcs, FIRST, n_arcs, bits, indices, values, ends, at)
    if has_siblings(structure):
        n_arcs = 0
        for m in range(1, len(heads)):
            s = _inner_neighbour(heads, m)
            if heads[m] != others[m] or s != _inner_neighbour(others, m):
                describe_arc(arcs, n_arcs, heads[m], m, s)
                n_arcs += 1
        at = write_features(read, SIBLINGS, arcs, FIRST, n_arcs, bits, indices, values, at)
    if has_grandparents(structure):
        n_arcs = 0
        for m in range(1, len(heads)):
            h = heads[m]
            if h != 0 and (h != others[m] or heads[h] != others[h]):
                describe_grand(arcs, n_arcs, heads[h], h, m)
                n_arcs += 1
        at = write_features(read, GRANDPARENTS, arcs, FIRST, n_arcs, bits, indices, values, at)
    for k in range(begin, at):
        values[k] *= sign
    return at


@kernel
def _label_features(trees, read, heads, labels, others, other_labels, sign, indices, values, at):
    """Write the features of the first tree's labels where the other tree's arc or label differs, times sign."""
    n_labels, first_row = trees.shape.n_labels, 1 << trees.shape.arc_bits
    bits, nobody = trees.shape.label_bits, len(heads)
    arcs, ends = np.empty((N_ARC_ROWS, len(heads)), np.int64), np.empty(1, np.int64)
    for m in range(1, len(heads)):
        head, label = heads[m], labels[m]
        if head == 0 or (head == others[m] and label == other_labels[m]):
            continue
        begin = at
        describe_arc(arcs, m, head, m, nobody)
        at = write_features(read, LABELS, arcs, m, m + 1, bits, indices, values, at)
        at = write_features(read, HEAD_LABELS, arcs, m, m + 1, bits, indices, values, at)
        at = write_features(read, MODIFIER_LABELS, arcs, m, m + 1, bits, indices, values, at)
        at = write_between(read, LABELS_BETWEEN, arcs, m, m + 1, bits, indices, values, ends, at)
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
    at = _tree_features(trees, read, gold_heads, heads, 1.0, indices, values, FIRST)
    at = _tree_features(trees, read, heads, gold_heads, -1.0, indices, values, at)
    if with_labels:
        at = _label_features(trees, read, gold_heads, gold_labels, heads, labels, 1.0, indices, values, at)
        at = _label_features(trees, read, heads, labels, gold_heads, gold_labels, -1.0, indices, values, at)
    return at, loss


@kernel
def count_features(trees, begin, counts):
    """Add to counts, int32 [R], how often each feature fires in the gold trees of the sentences from `begin` on.

    There is a row for each hashed feature of arcs and pairs of arcs, then one for each of labels.
    """
    n_sentences, first_row = len(trees.columns.starts) - 1, 1 << trees.shape.arc_bits
    for sentence in range(begin, n_sentences):
        first, n = trees.columns.starts[sentence], trees.columns.starts[sentence + 1] - trees.columns.starts[sentence]
        read = read_sentence(trees.columns, trees.program, sentence)
        heads, labels = np.full(n + 1, NONE, np.int32), np.zeros(n + 1, np.int32)
        nothing = heads.copy()
        for m in range(1, n + 1):
            heads[m], labels[m] = trees.gold[first + m - 1], trees.gold_labels[first + m - 1]
        entries = n * max_features(trees.program, n)
        indices, values = np.empty(entries, np.int64), np.empty(entries)
        end = _tree_features(trees, read, heads, nothing, 1.0, indices, values, FIRST)
        if trees.shape.n_labels > 1:
            end = _label_features(trees, read, heads, labels, nothing, labels, 1.0, indices, values, end)
        for k in range(end):
            row = indices[k]
            if row >= first_row:
                row = first_row + (row - first_row) // trees.shape.n_labels
            counts[row] += values[k] != 0.0


@kernel
def max_oracle(data, example, weights, loss_scale, indices, values):
    """The plane of argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), in pairs that may repeat; data: `DecodedTrees`.

    Chang & Yih 2013, equation 3; with loss_scale 0 this is plain decoding.
    Returns the number of entries and the (unscaled) loss.
    """
    trees = data.trees
    n = trees.columns.starts[example + 1] - trees.columns.starts[example]
    read = read_sentence(trees.columns, trees.program, example)
    heads, labels = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
    data.decode(trees, example, read, double_precision(weights), loss_scale, heads, labels)
    return feature_difference(trees, example, read, heads, labels, indices, values)


@kernel
def kbest_oracle(data, example, weights, loss_scale, k, starts, losses, indices, values):
    """The planes of the k labelled trees of largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first.

    Args:
        data: `DecodedTrees`. Plane j is written to starts[j] … starts[j + 1] − 1 of indices and values, in pairs that
            may repeat, its unscaled loss to losses[j].

    Returns:
        The number of trees, at most k.
    """
    trees = data.trees
    read = read_sentence(trees.columns, trees.program, example)
    parts, label_scores = score_labelled_arcs(trees, example, read, double_precision(weights), loss_scale)
    for arc in range(len(label_scores)):
        parts.scores[arc] += np.max(label_scores[arc])
    if trees.shape.structure == PROJECTIVE:
        tree_scores, heads = eisner_kbest(dense_scores(parts), k, trees.shape.multi_root)
    else:
        tree_scores, heads = spanning_kbest(dense_scores(parts), k, trees.shape.multi_root)
    labelled = labelled_kbest(parts, label_scores, heads, tree_scores, k)
    starts[0] = 0
    for j in range(len(labelled)):
        begin, tree = starts[j], heads[labelled[j, 0]]
        entries, losses[j] = feature_difference(
            trees, example, read, tree, labelled[j, 1:], indices[begin:], values[begin:]
        )
        starts[j + 1] = begin + entries
    return len(labelled)


def extent(trees: Trees) -> Extent:
    """The extent of these sentences."""
    cost = min(min_cost(trees.head_costs), min_cost(trees.label_costs))
    return Extent(plane_entries(trees), cliques.sizes(trees), cost)


ROUNDING_MARGIN = 0.1
"""`Corrections.margin` of trees. They are predicted with weights of one byte, which changes the difference of the
scores of two trees with a few different arcs by some hundredths."""


def tree_problem(trees: Trees, rates: Rates | None = None, known: Extent | None = None) -> Problem:
    """The problem of sentences with trees; it offers marginals and the k best where only single arcs are scored.

    Args:
        rates: see `Corrections`.
        known: `extent` of the trees, if they have been found.
    """
    known = extent(trees) if known is None else known
    first_order = trees.shape.structure in (PROJECTIVE, SPANNING)
    return Problem(
        DecodedTrees(trees, decode),
        max_oracle,
        n_examples=len(trees.columns.starts) - 1,
        dimension=dimension(trees.shape),
        plane_entries=known.plane_entries,
        cliques=Cliques(known.clique_sizes, cliques.score, cliques.infer, cliques.move) if first_order else None,
        kbest_oracle=kbest_oracle if first_order else None,
        exact=trees.shape.structure != SPANNING_GRANDPARENTS,
        corrections=Corrections(rates, margin=ROUNDING_MARGIN),
        unit=known.unit,
    )
