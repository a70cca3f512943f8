"""Labels of arcs: the k best labelled trees, and sums over labels."""

import math

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN, ROOT_LABEL


@kernel
def _best_labels(label_scores, best, k):
    """The k best labels of each arc, best first, int32 [A, k], and by how much they score less than `best` [A]."""
    n_arcs = len(label_scores)
    labels, losses = np.full((n_arcs, k), ROOT_LABEL, np.int32), np.full((n_arcs, k), np.inf)
    losses[:, 0] = 0.0
    for arc in range(n_arcs):
        order = np.argsort(-label_scores[arc])
        for rank in range(min(k, len(order))):
            if label_scores[arc, order[rank]] > FORBIDDEN / 2:
                labels[arc, rank], losses[arc, rank] = order[rank], best[arc] - label_scores[arc, order[rank]]
    return labels, losses


@kernel
def _insert(totals, rows, size, total, tree, labels):
    """Keep a labelled tree among the best, totals float64 [k] and rows int32 [k, n + 2]; returns how many there are."""
    if size == len(totals) and total <= totals[size - 1]:
        return size
    at = min(size, len(totals) - 1)
    size = at + 1
    while at > 0 and totals[at - 1] < total:
        totals[at], rows[at] = totals[at - 1], rows[at - 1]
        at -= 1
    totals[at], rows[at, 0], rows[at, 1:] = total, tree, labels
    return size


@kernel
def labelled_kbest(parts, label_scores, heads, tree_scores, k):
    """The k best labelled trees among the k best trees, each of which is scored by its best labels.

    No other tree comes in: k trees with their best labels score at least as much. Returns int32 [m, n + 2]: a number of
    a tree, and labels of its nodes.
    """
    n = heads.shape[1] - 1
    best = np.empty(len(label_scores))
    for arc in range(len(best)):
        best[arc] = np.max(label_scores[arc])
    labels, losses = _best_labels(label_scores, best, k)
    totals, rows, size = np.empty(k), np.empty((k, n + 2), np.int32), 0
    plain = np.full(n + 1, ROOT_LABEL, np.int32)
    for tree in range(len(heads)):
        some, some_rows, some_size = np.empty(k), np.empty((k, n + 2), np.int32), 0
        some_size = _insert(some, some_rows, some_size, tree_scores[tree], tree, plain)
        for m in range(1, n + 1) if len(label_scores) else range(0):
            arc = parts.number[heads[tree, m], m]
            wider, wider_rows, wider_size = np.empty(k), np.empty((k, n + 2), np.int32), 0
            for known in range(some_size):
                for rank in range(k):
                    if losses[arc, rank] == np.inf:
                        break
                    some_rows[known, m + 1] = labels[arc, rank]
                    wider_size = _insert(
                        wider, wider_rows, wider_size, some[known] - losses[arc, rank], tree, some_rows[known, 1:]
                    )
            some, some_rows, some_size = wider, wider_rows, wider_size
        for known in range(some_size):
            size = _insert(totals, rows, size, some[known], tree, some_rows[known, 1:])
    return rows[:size]


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
