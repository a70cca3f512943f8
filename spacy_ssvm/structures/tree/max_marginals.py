"""The best projective tree with each arc: max-marginals, by an outside pass over the items of the decoder."""

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN
from .parts import NONE
from .projective import fill_charts, raise_row
from .projective_grandparents import fill_grand_charts


@kernel
def _arcs_up_to(modifiers, children, starts, right_of, head, tip):
    """The range (first, end) of places in `children`: the arcs from a head to nodes up to the tip of a span."""
    first = end = right_of[head]
    if head < tip:
        while end < starts[head + 1] and modifiers[children[end]] <= tip:
            end += 1
    else:
        while first > starts[head] and modifiers[children[first - 1]] >= tip:
            first -= 1
    return first, end


@kernel
def _arcs_inside(right_of, place, arc, head, modifier):
    """The range (first, end) of places in `children`: the arcs from the same head to nodes between both ends."""
    if head < modifier:
        return right_of[head], place[arc]
    return place[arc] + 1, right_of[head]


@kernel
def _pass_to_spans(parts, charts, outside_span, outside_part, h, tip):
    """From the spans of head h up to the tip to their options: the farthest child, and that child's own span."""
    low, high = min(h, tip), max(h, tip)
    first, end = _arcs_up_to(parts.modifiers, charts.children, charts.starts, charts.right_of, h, tip)
    for slot in range(charts.above[h + 1] - charts.above[h] if h > 0 else 1):
        row = charts.above[h] + slot if h > 0 else len(parts.heads)
        outside = outside_span[row, tip]
        if outside == -np.inf or (h > 0 and low <= parts.heads[row] <= high):
            continue
        for c in range(first, end):
            arc = charts.children[c]
            outside_part[arc, slot] = max(outside_part[arc, slot], outside + charts.span[arc, tip])
            outside_span[arc, tip] = max(outside_span[arc, tip], outside + charts.part[arc, slot])


@kernel
def _pass_to_parts(parts, charts, outside_span, outside_part, arc, multi_root, grand_scores, best):
    """From the parts of an arc to their options, the inner neighbours; notes the arc's best tree.

    Args:
        grand_scores: float64, scratch, one for each slot.
    """
    h, m = parts.heads[arc], parts.modifiers[arc]
    step, n_slots = 1 if h < m else -1, charts.above[h + 1] - charts.above[h] if h > 0 else 1
    grand_scores[:n_slots] = 0.0
    for k in range(parts.grand_starts[arc], parts.grand_starts[arc + 1]):
        grand_scores[parts.grands[k] - charts.above[h]] = parts.grand_scores[k]
    alone = -np.inf
    for slot in range(n_slots):
        outside = outside_part[arc, slot]
        best[arc] = max(best[arc], outside + charts.part[arc, slot])
        grand_scores[slot] += outside + parts.scores[arc]
        alone = max(alone, grand_scores[slot])
    pair, end = parts.sibling_starts[arc], parts.sibling_starts[arc + 1]
    if pair < end and parts.siblings[pair] == NONE:
        alone += parts.sibling_scores[pair]
    outside_span[arc, h + step] = max(outside_span[arc, h + step], alone)
    if h == 0 and not multi_root:
        return
    first, last = _arcs_inside(charts.right_of, charts.place, arc, h, m)
    for c in range(first, last):
        sibling = charts.children[c]
        s = parts.modifiers[sibling]
        while pair < end and parts.siblings[pair] < sibling:
            pair += 1
        score = parts.sibling_scores[pair] if pair < end and parts.siblings[pair] == sibling else 0.0
        left_arc, right_arc, left, right = (sibling, arc, s, m) if h < m else (arc, sibling, m, s)
        between = -np.inf
        for k in range(left, right):
            between = max(between, charts.span[left_arc, k] + charts.span[right_arc, k + 1])
        around = -np.inf
        for slot in range(n_slots):
            outside = grand_scores[slot] + score
            outside_part[sibling, slot] = max(outside_part[sibling, slot], outside + between)
            around = max(around, outside + charts.part[sibling, slot])
        for k in range(left, right):
            outside_span[left_arc, k] = max(outside_span[left_arc, k], around + charts.span[right_arc, k + 1])
            outside_span[right_arc, k + 1] = max(outside_span[right_arc, k + 1], around + charts.span[left_arc, k])


@kernel
def _largest_sum(first, second):
    """max_j first_j + second_j, in four partial maxima, which do not wait for each other; −∞ of nothing."""
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    fours = len(first) // 4 * 4
    for j in range(0, fours, 4):
        a = max(a, first[j] + second[j])
        b = max(b, first[j + 1] + second[j + 1])
        c = max(c, first[j + 2] + second[j + 2])
        d = max(d, first[j + 3] + second[j + 3])
    for j in range(fours, len(first)):
        a = max(a, first[j] + second[j])
    return max(max(a, b), max(c, d))


@kernel
def arc_max_marginals(scores, multi_root):
    """The score of the best projective tree with each arc, float64 [n + 1, n + 1], where arcs alone have scores.

    Args:
        scores, multi_root: as for `eisner`. −∞ for FORBIDDEN arcs and for arcs in no tree. The outside pass takes the
            steps of `fill_charts` backwards.
    """
    n = len(scores) - 1
    charts, best = fill_charts(scores, multi_root), np.full((n + 1, n + 1), -np.inf)
    right, left = np.full((n + 1, n + 1), -np.inf), np.full((n + 1, n + 1), -np.inf)
    arc_left, below = np.full((n + 1, n + 1), -np.inf), np.empty(n + 1)
    right[0, n] = 0.0
    for i in range(n + 1):
        below[:] = -np.inf
        if i > 0:
            for m in range(n - 1, i - 1, -1):
                left[i, m] = max(left[i, m], _largest_sum(left[i, m + 1 :], charts.arc_left[m, m + 1 :]))
                raise_row(arc_left[m, m + 1 :], charts.left[i, m], left[i, m + 1 :])
            for j in range(i + 1, n + 1):
                below[j] = arc_left[i, j] + scores[j, i]
                if scores[j, i] > FORBIDDEN / 2:
                    best[j, i] = arc_left[i, j] + charts.arc_left[i, j]
        for j in range(n, i, -1):
            if scores[i, j] > FORBIDDEN / 2:
                first = j if i > 0 or multi_root else n
                outside = _largest_sum(right[i, first:], charts.right[j, first:])
                raise_row(right[j, first:], charts.arc_right[i, j], right[i, first:])
                below[j] = max(below[j], outside + scores[i, j])
                best[i, j] = outside + charts.arc_right[i, j]
            right[i, j - 1] = max(right[i, j - 1], _largest_sum(below[j:], charts.left[j, j:]))
            raise_row(left[j, j:], charts.right[i, j - 1], below[j:])
    return best


@kernel
def max_marginals(parts, multi_root):
    """The score of the best projective tree with each arc of `Parts`, float64 [A]; −∞ for arcs in no tree.

    The outside pass visits the items of `fill_grand_charts` in reverse order, and takes two to three times as long.
    multi_root: whether several tokens may have head 0.
    """
    n, size = len(parts.number) - 1, len(parts.heads)
    charts = fill_grand_charts(parts, multi_root)
    outside_span, outside_part = np.full(charts.span.shape, -np.inf), np.full(charts.part.shape, -np.inf)
    outside_span[size, n] = 0.0
    best, grand_scores = np.full(size, -np.inf), np.empty(charts.part.shape[1])
    for width in range(n, 0, -1):
        for i in range(n + 1 - width):
            _pass_to_spans(parts, charts, outside_span, outside_part, i, i + width)
            _pass_to_spans(parts, charts, outside_span, outside_part, i + width, i)
        for i in range(n + 1 - width):
            for way in range(2):
                arc = parts.number[i, i + width] if way == 0 else parts.number[i + width, i]
                if arc != NONE:
                    _pass_to_parts(parts, charts, outside_span, outside_part, arc, multi_root, grand_scores, best)
    return best
