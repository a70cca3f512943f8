"""The k best trees: projective, non-projective, and labelled."""

import math

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN
from .parts import NONE, ROOT_LABEL
from .projective import best_option, expand, fill_charts, new_agenda, option_score, options
from .spanning import maximum_spanning_tree


@kernel
def insert(branches, scores, size, score, tree, place, option):
    """Insert the branch (tree, place, option) if it is one of the k best. Returns the number of branches.

    Args:
        branches: int64 [k, 3], best first, with their scores float64 [k]; a branch is inserted after those of equal
            score.
    """
    if score <= FORBIDDEN / 2 or (size == len(scores) and score <= scores[size - 1]):
        return size
    at = min(size, len(scores) - 1)
    size = at + 1
    while at > 0 and scores[at - 1] < score:
        branches[at], scores[at] = branches[at - 1], scores[at - 1]
        at -= 1
    branches[at, 0], branches[at, 1], branches[at, 2], scores[at] = tree, place, option, score
    return size


@kernel
def eisner_kbest(scores, k, multi_root):
    """The k best projective trees, best first: their scores float64 [m] and heads int32 [m, n + 1], heads[:, 0] = −1.

    Args:
        scores, multi_root: as for `eisner`. All trees differ; m < k if there are fewer trees without FORBIDDEN arcs.

    A tree is derived by a sequence of choices, one for each item of the agenda. A branch (tree, place, option) is the
    best tree that makes the same choices as `tree` before place, and chooses `option` at that place.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    n = len(scores) - 1
    charts = fill_charts(scores, multi_root)
    heads, choices = np.full((k, n + 1), NONE, np.int32), np.empty((k, 2 * n), np.int32)
    # The first branches are the trees found so far: a branch that is inserted later is never better than these.
    branches, tree_scores = np.empty((k, 3), np.int64), np.empty(k)
    size = insert(branches, tree_scores, 0, charts.right[0, n], 0, -1, NONE)
    n_found = 0
    while n_found < size:
        tree, place, option = branches[n_found]
        agenda, waiting = new_agenda(n)
        step = 0
        while waiting > 0:
            waiting -= 1
            kind, a, b = agenda[waiting]
            if step < place:
                choice = np.int64(choices[tree, step])
            elif step == place:
                choice = option
            else:
                choice = best_option(charts, kind, a, b)
                best = option_score(charts, kind, a, b, choice)
                first, end = options(kind, a, b)
                for other in range(first, end):
                    if other != choice:
                        loss = best - option_score(charts, kind, a, b, other)
                        size = insert(branches, tree_scores, size, tree_scores[n_found] - loss, n_found, step, other)
            choices[n_found, step] = choice
            waiting = expand(kind, a, b, choice, agenda, waiting, heads[n_found])
            step += 1
        n_found += 1
    return tree_scores[:n_found], heads[:n_found]


@kernel
def _best_in(scores, multi_root, forced, banned, heads):
    """Write the best tree in which tokens 1 … forced keep their heads, and token forced + 1 has no banned head.

    Args:
        heads: int32 [n + 1], the heads to keep, replaced by the tree's heads.
        banned: bool [n + 1].

    Returns:
        Its score.
    """
    restricted = scores.copy()
    n = len(scores) - 1
    for m in range(1, forced + 1):
        for h in range(n + 1):
            if h != heads[m]:
                restricted[h, m] = FORBIDDEN
    for h in range(n + 1):
        if banned[h]:
            restricted[h, forced + 1] = FORBIDDEN
    return maximum_spanning_tree(restricted, multi_root, heads)


@kernel
def spanning_kbest(scores, k, multi_root):
    """The k best distinct trees, best first.

    Args:
        scores: float64 [n + 1, n + 1], as for `maximum_spanning_tree`.
        multi_root: whether several tokens may have head 0.

    Returns:
        Scores float64 [m] and heads int32 [m, n + 1], m ≤ k; trees with FORBIDDEN arcs do not count.
    """
    n = len(scores) - 1
    room = 1 + k * max(n, 1)
    totals, trees = np.full(room, -np.inf), np.empty((room, n + 1), np.int32)
    # A candidate is the best tree with its own heads at tokens 1 … agreed and without a `banned` head at the next one.
    agreed, banned = np.zeros(room, np.int64), np.zeros((room, n + 1), np.bool_)
    totals[0] = maximum_spanning_tree(scores, multi_root, trees[0])
    size, n_found = 1, 0
    best_totals, best_trees = np.empty(k), np.empty((k, n + 1), np.int32)
    while n_found < k:
        best = np.argmax(totals[:size])
        if totals[best] <= FORBIDDEN / 2:
            break
        best_totals[n_found], best_trees[n_found] = totals[best], trees[best]
        totals[best] = -np.inf
        n_found += 1
        if n_found == k:
            break
        for m in range(agreed[best] + 1, n + 1):
            trees[size] = best_trees[n_found - 1]
            agreed[size] = m - 1
            if m == agreed[best] + 1:
                banned[size] = banned[best]
            banned[size, best_trees[n_found - 1, m]] = True
            totals[size] = _best_in(scores, multi_root, m - 1, banned[size], trees[size])
            size += 1
    return best_totals[:n_found].copy(), best_trees[:n_found].copy()


@kernel
def _best_labels(label_scores, best, k):
    """The k best labels of each arc, best first, int32 [A, k], and their distances from the best score, `best` [A]."""
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
    """Insert a labelled tree if it is one of the k best. Returns the number of trees.

    Args:
        totals: float64 [k], best first.
        rows: int32 [k, n + 2], the number of a tree and the labels of its nodes.
    """
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
    """The k best labelled trees, found among the labellings of the k best trees.

    Args:
        heads, tree_scores: the k best trees, each scored with its best labels. Labellings of any other tree score no
            more than these k.

    Returns:
        int32 [m, n + 2]: the number of a tree, and the labels of its nodes.
    """
    n = heads.shape[1] - 1
    best = np.empty(len(label_scores))
    for arc in range(len(best)):
        best[arc] = np.max(label_scores[arc])
    labels, losses = _best_labels(label_scores, best, k)
    totals, rows, size = np.empty(k), np.empty((k, n + 2), np.int32), 0
    plain = np.full(n + 1, ROOT_LABEL, np.int32)
    for tree in range(len(heads)):
        # The k best labellings of the first m tokens; the others have their best labels.
        partial, partial_rows, partial_size = np.empty(k), np.empty((k, n + 2), np.int32), 0
        partial_size = _insert(partial, partial_rows, partial_size, tree_scores[tree], tree, plain)
        for m in range(1, n + 1) if len(label_scores) else range(0):
            arc = parts.number[heads[tree, m], m]
            longer, longer_rows, longer_size = np.empty(k), np.empty((k, n + 2), np.int32), 0
            for j in range(partial_size):
                for rank in range(k):
                    if losses[arc, rank] == np.inf:
                        break
                    partial_rows[j, m + 1] = labels[arc, rank]
                    total = partial[j] - losses[arc, rank]
                    longer_size = _insert(longer, longer_rows, longer_size, total, tree, partial_rows[j, 1:])
            partial, partial_rows, partial_size = longer, longer_rows, longer_size
        for j in range(partial_size):
            size = _insert(totals, rows, size, partial[j], tree, partial_rows[j, 1:])
    return rows[:size]


@kernel
def sum_out_labels(parts, label_scores, beta):
    """Sum over the labels of each arc, in place.

    parts.scores becomes log Σ_label exp(β · score of arc and label), and label_scores the labels' probabilities given
    the arc. Arcs that are ruled out, or all of whose labels are, become FORBIDDEN for any β.
    """
    for arc in range(len(parts.scores)):
        parts.scores[arc] = beta * parts.scores[arc] if parts.scores[arc] > FORBIDDEN / 2 else FORBIDDEN
    for arc in range(len(label_scores)):
        row = label_scores[arc]
        highest = np.max(row)
        if highest <= FORBIDDEN / 2:
            row[:] = 0.0
            parts.scores[arc] = FORBIDDEN
            continue
        total = 0.0
        for label in range(len(row)):
            row[label] = math.exp(beta * (row[label] - highest)) if row[label] > FORBIDDEN / 2 else 0.0
            total += row[label]
        row /= total
        parts.scores[arc] += beta * highest + math.log(total)
