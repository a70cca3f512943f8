"""Exact projective decoding with siblings and grandparents (Koo & Collins 2010, model 1, with pairs of arcs only)."""

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .parts import NONE


class GrandCharts(NamedTuple):
    """The best score of each item, −∞ where there is no such item, and its best option.

    A span is identified by the arc to its head, with A for the root. span[a, e], float64 [A + 1, n + 1]: the nodes from
    the modifier of arc a to e, as its descendants. part[a, b], float64 [A, ·]: arc a with the nodes between its ends,
    where slot b stands for the arc to the head of a: the b-th of them. Spans that contain the head of their own head
    are impossible.

    Attributes:
        last_arc: int32 [A + 1, n + 1], of a span, the arc from its head to its farthest child.
        inner: int32 [A, ·], of a part, the inner neighbour as an arc, or NONE.
        children: int32 [A], the arcs sorted by head, then by modifier; head h has those from starts[h] on, int64 [n +
            2], to its right those from right_of[h] on, int64 [n + 1].
        place: int64 [A], the place of each arc among them.
        above: int64 [n + 2], the first arc to each node.
    """

    span: np.ndarray
    part: np.ndarray
    last_arc: np.ndarray
    inner: np.ndarray
    children: np.ndarray
    starts: np.ndarray
    right_of: np.ndarray
    place: np.ndarray
    above: np.ndarray


@kernel
def _cumulate(counts):
    """Replace each count by the cumulative sum."""
    for k in range(1, len(counts)):
        counts[k] += counts[k - 1]


@kernel
def _children(parts):
    """The arcs sorted by head, then by modifier: starts int64 [n + 2] and arcs int32 [A]."""
    starts = np.zeros(len(parts.number) + 1, np.int64)
    for head in parts.heads:
        starts[head + 1] += 1
    _cumulate(starts)
    arcs, filled = np.empty(len(parts.heads), np.int32), np.zeros(len(starts), np.int64)
    for arc in range(len(parts.heads)):
        head = parts.heads[arc]
        arcs[starts[head] + filled[head]] = arc
        filled[head] += 1
    return starts, arcs


@kernel
def first_arcs_to(parts):
    """The first arc to each node, int64 [n + 2]: the arcs to m are starts[m] … starts[m + 1] − 1."""
    starts = np.zeros(len(parts.number) + 1, np.int64)
    for modifier in parts.modifiers:
        starts[modifier + 1] += 1
    _cumulate(starts)
    return starts


@kernel
def _places(parts, starts, children):
    """The place of each arc in `children`, int64 [A], and each head's first place of an arc to the right, [n + 1]."""
    place, right_of = np.empty(len(children), np.int64), starts[1:].copy()
    for head in range(len(starts) - 1):
        for c in range(starts[head], starts[head + 1]):
            place[children[c]] = c
            if parts.modifiers[children[c]] > head:
                right_of[head] = min(right_of[head], c)
    return place, right_of


@kernel
def _split(span, left_arc, right_arc, left, right):
    """The best border k between the spans of two neighbouring siblings, left … k and k + 1 … right, and its score."""
    best, border = -np.inf, np.uint64(left)
    left_row, right_row = np.uint64(left_arc), np.uint64(right_arc)
    for k in range(np.uint64(left), np.uint64(right)):
        score = span[left_row, k] + span[right_row, k + np.uint64(1)]
        if score > best:
            best, border = score, k
    return best, np.int64(border)


@kernel
def fill_grand_charts(parts, multi_root):
    """The `GrandCharts` of all `Parts`; O(n³) for a bounded number of candidate heads.

    Args:
        multi_root: whether several tokens may have head 0.
    """
    n, size = len(parts.number) - 1, len(parts.heads)
    starts, children = _children(parts)
    above = first_arcs_to(parts)
    max_above = 1
    for node in range(1, n + 1):
        max_above = max(max_above, above[node + 1] - above[node])
    span = np.full((size + 1, n + 1), -np.inf)
    last_arc = np.full((size + 1, n + 1), NONE, np.int32)
    part = np.full((size, max_above), -np.inf)
    inner = np.full((size, max_above), NONE, np.int32)
    for arc in range(size):
        span[arc, parts.modifiers[arc]] = 0.0
    span[size, 0] = 0.0
    place, right_of = _places(parts, starts, children)
    charts = GrandCharts(span, part, last_arc, inner, children, starts, right_of, place, above)
    between, pair = np.empty(n + 1), np.empty(n + 1)
    siblings = np.empty(n + 1, np.uint64)
    # The places of each head's arcs to modifiers at most `width` away: from the first one to the end.
    first_near, end_near = right_of.copy(), right_of.copy()
    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            for way in range(2):
                h, m = (i, j) if way == 0 else (j, i)
                arc = parts.number[h, m]
                if arc == NONE:
                    continue
                if way == 0:
                    end_near[h] += 1
                else:
                    first_near[h] -= 1
                pairs, end = parts.sibling_starts[arc], parts.sibling_starts[arc + 1]
                alone = span[arc, h + 1 if way == 0 else h - 1]
                if pairs < end and parts.siblings[pairs] == NONE:
                    alone += parts.sibling_scores[pairs]
                n_siblings = 0
                if h > 0 or multi_root:
                    # Ranges of arcs are written out here and below: as calls they take a tenth of all parsing.
                    first, last = (right_of[h], place[arc]) if way == 0 else (place[arc] + 1, right_of[h])
                    for c in range(first, last):
                        sibling = children[c]
                        s = parts.modifiers[sibling]
                        ends = (sibling, arc, s, m) if way == 0 else (arc, sibling, m, s)
                        siblings[n_siblings] = np.uint64(sibling)
                        between[n_siblings] = _split(span, *ends)[0]
                        while pairs < end and parts.siblings[pairs] < sibling:
                            pairs += 1
                        is_listed = pairs < end and parts.siblings[pairs] == sibling
                        pair[n_siblings] = parts.sibling_scores[pairs] if is_listed else 0.0
                        n_siblings += 1
                pairs, end = parts.grand_starts[arc], parts.grand_starts[arc + 1]
                slots = above[h + 1] - above[h] if h > 0 else 1
                for slot in range(slots):
                    grand = 0.0
                    if h > 0:
                        upper = above[h] + slot
                        if i <= parts.heads[upper] <= j:
                            continue
                        while pairs < end and parts.grands[pairs] < upper:
                            pairs += 1
                        if pairs < end and parts.grands[pairs] == upper:
                            grand = parts.grand_scores[pairs]
                    best, best_arc, place_above = alone, NONE, np.uint64(slot)
                    # Unsigned places need no check for negative ones.
                    for k in range(np.uint64(n_siblings)):
                        score = part[siblings[k], place_above] + between[k] + pair[k]
                        if score > best:
                            best, best_arc = score, np.int64(siblings[k])
                    part[arc, slot], inner[arc, slot] = best + parts.scores[arc] + grand, best_arc
            for way in range(2):
                h, tip = (i, j) if way == 0 else (j, i)
                first, last = (right_of[h], end_near[h]) if way == 0 else (first_near[h], right_of[h])
                if first == last:
                    continue
                slots = above[h + 1] - above[h] if h > 0 else 1
                for slot in range(slots):
                    row = above[h] + slot if h > 0 else size
                    if h > 0 and i <= parts.heads[row] <= j:
                        continue
                    best, best_arc, place_above, node = -np.inf, NONE, np.uint64(slot), np.uint64(tip)
                    for c in range(np.uint64(first), np.uint64(last)):
                        lower = np.uint64(children[c])
                        score = part[lower, place_above] + span[lower, node]
                        if score > best:
                            best, best_arc = score, np.int64(lower)
                    span[row, tip], last_arc[row, tip] = best, best_arc
    return charts


@kernel
def eisner_grandparents(parts, multi_root, heads):
    """The best projective tree under all `Parts`, as in `fill_grand_charts`.

    Args:
        heads: int32 [n + 1], output; heads[0] = NONE.

    Returns:
        The score. It is −inf if the candidates contain no projective tree; heads is then the chain 0 → 1 → 2 …
    """
    n, size = len(parts.number) - 1, len(parts.heads)
    charts = fill_grand_charts(parts, multi_root)
    span, last_arc, inner, above = charts.span, charts.last_arc, charts.inner, charts.above
    heads[0] = NONE
    if span[size, n] == -np.inf:
        for m in range(1, n + 1):
            heads[m] = m - 1
        return span[size, n]
    stack = np.empty((4 * n + 4, 2), np.int32)
    stack[0, 0], stack[0, 1] = size, n
    top = 1
    while top > 0:
        top -= 1
        row, tip = stack[top, 0], stack[top, 1]
        h = parts.modifiers[row] if row < size else 0
        if h == tip:
            continue
        slot = row - above[h] if h > 0 else 0
        arc = last_arc[row, tip]
        stack[top, 0], stack[top, 1] = arc, tip
        top += 1
        while True:
            m = parts.modifiers[arc]
            heads[m] = h
            sibling = inner[arc, slot]
            if sibling == NONE:
                stack[top, 0], stack[top, 1] = arc, h + 1 if h < m else h - 1
                top += 1
                break
            s = parts.modifiers[sibling]
            ends = (sibling, arc, s, m) if h < m else (arc, sibling, m, s)
            border = _split(span, *ends)[1]
            stack[top, 0], stack[top, 1] = ends[0], border
            stack[top + 1, 0], stack[top + 1, 1] = ends[1], border + 1
            top += 2
            arc = sibling
    return span[size, n]
