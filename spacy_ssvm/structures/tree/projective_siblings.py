"""Exact second-order decoding of projective trees with siblings (McDonald & Pereira 2006), for few candidate arcs.

Only candidate arcs have items, and only pairs of candidates are compared: with c candidates per token that is O(nc²),
in addition to the O(n³) additions to whole rows of the items without arcs.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .parts import NONE, dense_scores
from .projective import eisner, raise_row


class SiblingCharts(NamedTuple):
    """The best score of each item; −∞ where there is no such item.

    Attributes:
        right, left, arc_left: float64 [n + 1, n + 1], as in `Charts`. between[i, j] = between[j, i]: the spans of
            neighbouring siblings i and j on their inner sides.
        arcs: float64 [A], arc (h, m) with the tokens between h and m.
        inner: int32 [A], the inner neighbour of each arc in its best item, as an arc, or NONE.
    """

    right: np.ndarray
    left: np.ndarray
    arc_left: np.ndarray
    between: np.ndarray
    arcs: np.ndarray
    inner: np.ndarray


@kernel
def sort_by_key(keys, n):
    """Sort by key, stably: indices int32 [len(keys)], and the first position of each key 0 … n, int64 [n + 2]."""
    starts = np.zeros(n + 2, np.int64)
    for k in range(len(keys)):
        starts[keys[k] + 1] += 1
    for key in range(n + 1):
        starts[key + 1] += starts[key]
    order, position = np.empty(len(keys), np.int32), starts.copy()
    for k in range(len(keys)):
        order[position[keys[k]]] = k
        position[keys[k]] += 1
    return order, starts


@kernel
def fill_arc_item(parts, charts, arc, first, inners):
    """Compute the item of an arc (h, m) from its possible inner neighbours.

    Args:
        first: the score without an inner neighbour and without the pair's score.
        inners: arcs (h, s) with s between h and m, ascending.
    """
    pair, end = parts.sibling_starts[arc], parts.sibling_starts[arc + 1]
    between = charts.between[parts.modifiers[arc]]
    best, best_inner = first, NONE
    if pair < end and parts.siblings[pair] == NONE:
        best += parts.sibling_scores[pair]
        pair += 1
    for k in range(len(inners)):
        inner = inners[k]
        score = charts.arcs[inner] + between[parts.modifiers[inner]]
        while pair < end and parts.siblings[pair] < inner:
            pair += 1
        if pair < end and parts.siblings[pair] == inner:
            score += parts.sibling_scores[pair]
        if score > best:
            best, best_inner = score, inner
    charts.arcs[arc], charts.inner[arc] = best + parts.scores[arc], best_inner


@kernel
def fill_sibling_charts(parts, children, child_starts, multi_root):
    """The `SiblingCharts` of parts; children: the arcs sorted by head; head h has those from child_starts[h] on.

    With a single root, there is no span (0, j) other than the whole sentence, and arcs from the root have no inner
    neighbour.
    """
    n = len(parts.number) - 1
    parents, parent_starts = sort_by_key(parts.modifiers, n)
    place = np.empty(len(children), np.int64)
    for k in range(len(children)):
        place[children[k]] = k
    right, left = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arc_left, between = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arcs, inner = np.full(len(children), -np.inf), np.full(len(children), NONE, np.int32)
    charts = SiblingCharts(right, left, arc_left, between, arcs, inner)
    for i in range(n, -1, -1):
        right[i, i] = left[i, i] = 0.0
        nearest = child_starts[i]
        while nearest < child_starts[i + 1] and parts.modifiers[children[nearest]] < i:
            nearest += 1
        single = i == 0 and not multi_root
        for k in range(nearest, child_starts[i + 1]):
            arc = children[k]
            m = parts.modifiers[arc]
            fill_arc_item(parts, charts, arc, left[i + 1, m], children[nearest : (nearest if single else k)])
            first = n if single else m
            raise_row(right[i, first:], arcs[arc], right[m, first:])
        if i == 0:
            break
        for j in range(i + 1, n + 1):
            raise_row(between[i, j:], right[i, j - 1], left[j, j:])
        for j in range(i + 1, n + 1):
            between[j, i] = between[i, j]
        for k in range(parent_starts[i], parent_starts[i + 1]):
            arc = parents[k]
            h = parts.heads[arc]
            if h > i:
                end = place[arc] + 1
                while end < child_starts[h + 1] and parts.modifiers[children[end]] < h:
                    end += 1
                fill_arc_item(parts, charts, arc, right[i, h - 1], children[place[arc] + 1 : end])
                arc_left[i, h] = arcs[arc]
        for m in range(i, n):
            raise_row(left[i, m + 1 :], left[i, m], arc_left[m, m + 1 :])
    return charts


@kernel
def last_child(parts, charts, children, head, end):
    """The arc from head to its farthest child in the best span (head, end); children: all arcs from the head."""
    best, best_arc = -np.inf, NONE
    for k in range(len(children)):
        m = parts.modifiers[children[k]]
        if head < m <= end:
            score = charts.arcs[children[k]] + charts.right[m, end]
        elif end <= m < head:
            score = charts.arcs[children[k]] + charts.left[end, m]
        else:
            continue
        if score > best:
            best, best_arc = score, children[k]
    return best_arc


@kernel
def split_between(charts, i, j):
    """The last token that belongs to i in the best item between siblings i and j."""
    best, split = charts.right[i, i] + charts.left[i + 1, j], i
    for k in range(i + 1, j):
        if charts.right[i, k] + charts.left[k + 1, j] > best:
            best, split = charts.right[i, k] + charts.left[k + 1, j], k
    return split


@kernel
def eisner_siblings(parts, multi_root, heads):
    """Write the best projective tree of `Parts` to heads int32 [n + 1], heads[0] = −1. Returns its score.

    Args:
        multi_root: whether more than one token may have head 0. Grandparents are ignored. If no tree consists of
            candidate arcs, the result is as of `eisner` for the arcs alone.
    """
    n = len(parts.number) - 1
    children, starts = sort_by_key(parts.heads, n)
    charts = fill_sibling_charts(parts, children, starts, multi_root)
    if charts.right[0, n] == -np.inf:
        return eisner(dense_scores(parts), multi_root, heads)
    heads[0] = NONE
    # The agenda is large enough for a whole tree: one span on each side of each token.
    agenda = np.empty((2 * n + 2, 2), np.int64)
    agenda[0, 0], agenda[0, 1] = 0, n
    size = 1
    while size > 0:
        size -= 1
        h, end = agenda[size]
        if h == end:
            continue
        arc = last_child(parts, charts, children[starts[h] : starts[h + 1]], h, end)
        m = parts.modifiers[arc]
        agenda[size, 0], agenda[size, 1] = m, end
        size += 1
        while True:
            heads[m] = h
            arc = charts.inner[arc]
            if arc == NONE:
                agenda[size, 0], agenda[size, 1] = m, h + 1 if h < m else h - 1
                size += 1
                break
            s = parts.modifiers[arc]
            i, j = min(s, m), max(s, m)
            k = split_between(charts, i, j)
            agenda[size, 0], agenda[size, 1] = i, k
            agenda[size + 1, 0], agenda[size + 1, 1] = j, k + 1
            size += 2
            m = s
    return charts.right[0, n]
