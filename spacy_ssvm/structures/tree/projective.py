"""Projective trees, first order, in O(n³): the best tree (Eisner 1996, 2000), log-partition and arc marginals."""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .. import FAINT, FORBIDDEN
from .parts import NONE

SPAN, SPLIT = 0, 1
"""Kinds of items. A span (h, e) is a head h with its descendants on one side, which are all tokens up to the end e; its
options are the possible farthest children of h. A split (i, j) is the pair of spans that an arc between i and j covers;
its options are the tokens that may be the last one that belongs to i."""


class Charts(NamedTuple):
    """The best score of each item, float64 [n + 1, n + 1]; −∞ where there is no such item.

    right[i, j]: span (i, j). left[i, j]: span (j, i). arc_right[i, j]: arc (i, j) with the tokens between i and j.
    arc_left[i, j]: arc (j, i) with the tokens between. The row is always the left end, so that whole rows are updated.
    """

    right: np.ndarray
    left: np.ndarray
    arc_right: np.ndarray
    arc_left: np.ndarray


@kernel
def raise_row(row, score, others):
    """row ← max(row, score + others), elementwise: this vectorises, a running maximum would not."""
    for j in range(len(row)):
        row[j] = max(row[j], score + others[j])


@kernel
def fill_charts(scores, multi_root):
    """The `Charts` of scores float64 [n + 1, n + 1].

    With a single root, there is no span (0, j) other than the whole sentence: a second child of the root would need
    one.
    """
    n = len(scores) - 1
    right, left = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arc_right, arc_left = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    below = np.empty(n + 1)
    for i in range(n, -1, -1):
        right[i, i] = left[i, i] = 0.0
        below[:] = -np.inf
        for j in range(i + 1, n + 1):
            raise_row(below[j:], right[i, j - 1], left[j, j:])
            arc_right[i, j] = below[j] + scores[i, j]
            first = j if i > 0 or multi_root else n
            raise_row(right[i, first:], arc_right[i, j], right[j, first:])
        if i > 0:
            for j in range(i + 1, n + 1):
                arc_left[i, j] = below[j] + scores[j, i]
            for m in range(i, n):
                raise_row(left[i, m + 1 :], left[i, m], arc_left[m, m + 1 :])
    return Charts(right, left, arc_right, arc_left)


@kernel
def options(kind, a, b):
    """The range (first, end) of the options of item (a, b)."""
    if kind == SPAN and a < b:
        return a + 1, b + 1
    return min(a, b), max(a, b)


@kernel
def option_score(charts, kind, a, b, option):
    """The best score of item (a, b) with this option."""
    if kind == SPLIT:
        return charts.right[a, option] + charts.left[option + 1, b]
    if a < b:
        return charts.arc_right[a, option] + charts.right[option, b]
    return charts.arc_left[option, a] + charts.left[b, option]


@kernel
def best_option(charts, kind, a, b):
    """The first of the best options of item (a, b)."""
    first, end = options(kind, a, b)
    best, score = first, option_score(charts, kind, a, b, first)
    for option in range(first + 1, end):
        if option_score(charts, kind, a, b, option) > score:
            best, score = option, option_score(charts, kind, a, b, option)
    return best


@kernel
def new_agenda(n):
    """A new agenda, int64 [·, 3], of items (kind, a, b), with the whole sentence as its only item, and its size.

    It has room for a whole tree: one span on each side of each token, and one split for each arc.
    """
    agenda = np.empty((3 * n + 2, 3), np.int64)
    agenda[0, 0], agenda[0, 1], agenda[0, 2] = SPAN, 0, n
    return agenda, 1 if n > 0 else 0


@kernel
def expand(kind, a, b, option, agenda, size, heads):
    """Add the items that item (a, b) with this option consists of to the agenda, and its arc to heads.

    Returns the agenda's new size.
    """
    if kind == SPAN:
        heads[option] = a
        agenda[size, 0], agenda[size, 1], agenda[size, 2] = SPLIT, min(a, option), max(a, option)
        size += 1
        if option != b:
            agenda[size, 0], agenda[size, 1], agenda[size, 2] = SPAN, option, b
            size += 1
        return size
    if option != a:
        agenda[size, 0], agenda[size, 1], agenda[size, 2] = SPAN, a, option
        size += 1
    if option + 1 != b:
        agenda[size, 0], agenda[size, 1], agenda[size, 2] = SPAN, b, option + 1
        size += 1
    return size


@kernel
def eisner(scores, multi_root, heads):
    """Write the best projective tree to heads int32 [n + 1], heads[0] = −1. Returns its score.

    Args:
        scores: float64 [n + 1, n + 1], of (head, modifier); the diagonal and column 0 are ignored.
        multi_root: whether more than one token may have head 0. If every tree has FORBIDDEN arcs, the result has as few
            of them as possible; among such trees the choice is arbitrary, since scores of ordinary size are lost next
            to FORBIDDEN. Equal scores always give the same tree.
    """
    n = len(scores) - 1
    heads[0] = NONE
    charts = fill_charts(scores, multi_root)
    agenda, size = new_agenda(n)
    while size > 0:
        size -= 1
        kind, a, b = agenda[size]
        size = expand(kind, a, b, best_option(charts, kind, a, b), agenda, size, heads)
    return charts.right[0, n]


@kernel
def log_sum_exp(first, second):
    """log Σ_j exp(first_j + second_j); at least one term must be above −∞."""
    largest = -np.inf
    for j in range(len(first)):
        largest = max(largest, first[j] + second[j])
    total = 0.0
    for j in range(len(first)):
        total += math.exp(first[j] + second[j] - largest)
    return largest + math.log(total)


@kernel
def share(count, log_sum, first, second, first_counts, second_counts):
    """Add the share of each term j, count · exp(first_j + second_j − log_sum), to the counts of its two parts."""
    if count == 0.0:
        return
    for j in range(len(first)):
        part = count * math.exp(first[j] + second[j] - log_sum)
        first_counts[j] += part
        second_counts[j] += part


@kernel
def add_row(row, factor, others):
    """row += factor · others, elementwise."""
    for j in range(len(row)):
        row[j] += factor * others[j]


@kernel
def _dot(first, second):
    """Σ_j first_j · second_j, in four partial sums, so that additions do not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = len(first) // 4 * 4
    for j in range(0, fours, 4):
        a += first[j] * second[j]
        b += first[j + 1] * second[j + 1]
        c += first[j + 2] * second[j + 2]
        d += first[j + 3] * second[j + 3]
    for j in range(fours, len(first)):
        a += first[j] * second[j]
    return (a + b) + (c + d)


@kernel
def _potentials(scores):
    """exp(score) of each arc, divided by the sum over all heads of its modifier, and the log of all these sums.

    The log is −∞ where a token has no head.
    """
    n, total = len(scores) - 1, 0.0
    potentials = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        highest, of_token = -np.inf, 0.0
        for h in range(n + 1):
            if h != m:
                highest = max(highest, scores[h, m])
        if highest <= FORBIDDEN / 2:
            return potentials, -np.inf
        for h in range(n + 1):
            if h != m and scores[h, m] > FORBIDDEN / 2:
                potentials[h, m] = math.exp(scores[h, m] - highest)
                of_token += potentials[h, m]
        for h in range(n + 1):
            potentials[h, m] /= of_token
        total += highest + math.log(of_token)
    return potentials, total


@kernel
def _fill_sums(potentials, multi_root):
    """`fill_charts` with sums of products of potentials, none of which exceeds 1; 0 where there is no item."""
    n = len(potentials) - 1
    right, left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    arc_right, arc_left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    below = np.empty(n + 1)
    for i in range(n, -1, -1):
        right[i, i] = left[i, i] = 1.0
        below[:] = 0.0
        for j in range(i + 1, n + 1):
            if right[i, j - 1] != 0.0:
                add_row(below[j:], right[i, j - 1], left[j, j:])
            arc_right[i, j] = below[j] * potentials[i, j]
            if arc_right[i, j] != 0.0:
                first = j if i > 0 or multi_root else n
                add_row(right[i, first:], arc_right[i, j], right[j, first:])
        if i > 0:
            for j in range(i + 1, n + 1):
                arc_left[i, j] = below[j] * potentials[j, i]
            for m in range(i, n):
                if left[i, m] != 0.0:
                    add_row(left[i, m + 1 :], left[i, m], arc_left[m, m + 1 :])
    return Charts(right, left, arc_right, arc_left)


@kernel
def projective_marginals(scores, multi_root, marginals):
    """Write the probability of each arc to marginals float64 [n + 1, n + 1]; returns log Σ_y exp(score(y)).

    Args:
        scores, multi_root: as for `eisner`. FORBIDDEN arcs, the diagonal and column 0 have the probability 0. If the
            result is below FORBIDDEN / 2, every tree has a FORBIDDEN arc, and all marginals are 0.

    The items of `Charts`, which derive each tree once, are used with sums instead of maxima. Marginals are the
    derivatives of the log-partition, accumulated from the whole sentence down to single arcs: the steps of `_fill_sums`
    backwards. Where a significant product might underflow, all sums are computed in log space instead.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    if n == 0:
        return 0.0
    potentials, log_total = _potentials(scores)
    charts = _fill_sums(potentials, multi_root)
    total = charts.right[0, n]
    if not total > FAINT:
        return _marginals_in_logs(scores, multi_root, marginals)
    right, left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    arc_left, below = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    right[0, n] = 1.0 / total
    for i in range(n + 1):
        below[:] = 0.0
        if i > 0:
            for m in range(n - 1, i - 1, -1):
                left[i, m] += _dot(left[i, m + 1 :], charts.arc_left[m, m + 1 :])
                if charts.left[i, m] != 0.0:
                    add_row(arc_left[m, m + 1 :], charts.left[i, m], left[i, m + 1 :])
            for j in range(i + 1, n + 1):
                below[j] = arc_left[i, j] * potentials[j, i]
                marginals[j, i] = arc_left[i, j] * charts.arc_left[i, j]
        for j in range(n, i, -1):
            if charts.arc_right[i, j] != 0.0:
                first = j if i > 0 or multi_root else n
                outside = _dot(right[i, first:], charts.right[j, first:])
                add_row(right[j, first:], charts.arc_right[i, j], right[i, first:])
                below[j] += outside * potentials[i, j]
                marginals[i, j] = outside * charts.arc_right[i, j]
            right[i, j - 1] += _dot(below[j:], charts.left[j, j:])
            add_row(left[j, j:], charts.right[i, j - 1], below[j:])
    return log_total + math.log(total)


@kernel
def _marginals_in_logs(scores, multi_root, marginals):
    """`projective_marginals` for scores of any size; marginals: initially 0."""
    n = len(scores) - 1
    # spans[h, e] = ends[e, h]: span (h, e). arcs[h, m]: arc (h, m) with the tokens between. below[i, j]: split (i, j).
    # Every sum runs along rows.
    spans, ends = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arcs, below = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    for i in range(n + 1):
        spans[i, i] = ends[i, i] = 0.0
    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            below[i, j] = log_sum_exp(spans[i, i:j], spans[j, i + 1 : j + 1])
            arcs[i, j] = below[i, j] + scores[i, j]
            # With a single root, there is no span (0, j) other than the whole sentence.
            if i > 0 or multi_root or j == n:
                spans[i, j] = ends[j, i] = log_sum_exp(arcs[i, i + 1 : j + 1], ends[j, i + 1 : j + 1])
            if i > 0:
                arcs[j, i] = below[i, j] + scores[j, i]
                spans[j, i] = ends[i, j] = log_sum_exp(arcs[j, i:j], ends[i, i:j])
    log_partition = spans[0, n]
    if log_partition < FORBIDDEN / 2:
        return log_partition
    span_counts, end_counts = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    span_counts[0, n] = 1.0
    for width in range(n, 0, -1):
        for i in range(n + 1 - width):
            j = i + width
            for h, e, first, end in ((i, j, i + 1, j + 1), (j, i, i, j)):
                share(
                    span_counts[h, e] + end_counts[e, h],
                    spans[h, e],
                    arcs[h, first:end],
                    ends[e, first:end],
                    marginals[h, first:end],
                    end_counts[e, first:end],
                )
            share(
                marginals[i, j] + marginals[j, i],
                below[i, j],
                spans[i, i:j],
                spans[j, i + 1 : j + 1],
                span_counts[i, i:j],
                span_counts[j, i + 1 : j + 1],
            )
    return log_partition
