"""Non-projective trees with siblings and grandparents, approximately: climbing from the best projective tree.

After McDonald & Pereira 2006: as long as another head of a single token makes the tree better, the token gets its best
head. Most trees are projective or nearly so, so that few arcs have to be moved. If arcs cross in the best tree of
single arcs, a second climb starts from there. The better end is the result, so it never scores below the best
projective tree, nor below the best tree of single arcs.
"""

import numpy as np

from ...kernels import kernel
from .parts import NO_CANDIDATE, NONE, dense_scores, pair_score, score_tree
from .projective_grandparents import eisner_grandparents, first_arcs_to
from .spanning import maximum_spanning_tree

MAX_SWEEPS = 10
"""The max number of visits of a climb to each token, so that it ends despite rounding."""


@kernel
def _arc(number, head, modifier):
    arc = number[head, modifier]
    return np.int64(NO_CANDIDATE if arc == NONE else arc)


@kernel
def _next_child(heads, head, node, step, end):
    """The first modifier of a head from `node` on, in steps of 1 or −1, or `end`."""
    while node != end and heads[node] != head:
        node += step
    return node


@kernel
def _with_siblings(gain, number, starts, siblings, scores, heads, arc, head, modifier):
    """The gain, plus the change of sibling pairs when a modifier without a head gets this head, by this arc."""
    inwards = 1 if modifier < head else -1
    inner_child = _next_child(heads, head, modifier + inwards, inwards, head)
    inner = np.int64(NONE) if inner_child == head else _arc(number, head, inner_child)
    gain += pair_score(starts, siblings, scores, arc, inner)
    end = 0 if inwards == 1 else len(heads)
    outer_child = _next_child(heads, head, modifier - inwards, -inwards, end)
    outer = np.int64(NO_CANDIDATE) if outer_child == end else _arc(number, head, outer_child)
    if outer >= 0:
        gain += pair_score(starts, siblings, scores, outer, arc) - pair_score(starts, siblings, scores, outer, inner)
    return gain


@kernel
def _with_grands(gain, number, starts, grands, scores, heads, children, n_children, arc, head, modifier):
    """The same for grandparent pairs; children: int64, the first n_children are the modifiers of the modifier."""
    if head != 0:
        gain += pair_score(starts, grands, scores, arc, _arc(number, heads[head], head))
    for k in range(n_children):
        below = _arc(number, modifier, children[k])
        if below >= 0:
            gain += pair_score(starts, grands, scores, below, arc)
    return gain


@kernel
def _is_below(heads, node, ancestor):
    while node != NONE and node != ancestor:
        node = heads[node]
    return node == ancestor


@kernel
def climb(parts, multi_root, heads):
    """Give one token after the other its best head, with all other heads fixed, until nothing changes.

    Args:
        multi_root: whether several tokens may have head 0; if not, the root stays.
        heads: int32 [n + 1], a tree, changed in place.
    """
    n, first = len(heads) - 1, first_arcs_to(parts)
    # Each time `parts` is passed on, the references to its arrays are counted, which would take longer than all else.
    number, arc_heads, scores = parts.number, parts.heads, parts.scores
    sibling_starts, siblings, sibling_scores = parts.sibling_starts, parts.siblings, parts.sibling_scores
    grand_starts, grands, grand_scores = parts.grand_starts, parts.grands, parts.grand_scores
    children = np.empty(n, np.int64)
    m, n_unchanged = 0, 0
    for _ in range(MAX_SWEEPS * n):
        if n_unchanged == n:
            break
        m = m % n + 1
        n_unchanged += 1
        before = heads[m]
        if first[m + 1] - first[m] == 1 or (before == 0 and not multi_root):
            continue
        n_children = 0
        for node in range(1, n + 1):
            if heads[node] == m:
                children[n_children] = node
                n_children += 1
        heads[m] = NONE
        best, best_head = -np.inf, before
        for arc in range(first[m], first[m + 1]):
            head = arc_heads[arc]
            if head != before and ((head == 0 and not multi_root) or _is_below(heads, head, m)):
                continue
            gain = scores[arc]
            gain = _with_siblings(gain, number, sibling_starts, siblings, sibling_scores, heads, arc, head, m)
            gain = _with_grands(
                gain, number, grand_starts, grands, grand_scores, heads, children, n_children, arc, head, m
            )
            if gain > best or (gain == best and head == before):
                best, best_head = gain, head
        heads[m] = best_head
        if best_head != before:
            n_unchanged = 0


@kernel
def has_crossing_arcs(heads):
    """Whether arcs of a tree cross: then some token between the ends of an arc has a head beyond them."""
    for m in range(1, len(heads)):
        left, right = min(heads[m], m), max(heads[m], m)
        for node in range(left + 1, right):
            if not left <= heads[node] <= right:
                return True
    return False


@kernel
def climbing_decode(parts, multi_root, heads):
    """Write a tree of high score to heads int32 [n + 1], heads[0] = −1, and return its score.

    The tree is exact if there are no pairs. Scores are as in `Parts`.
    """
    maximum_spanning_tree(dense_scores(parts), multi_root, heads)
    if len(parts.siblings) + len(parts.grands) == 0:
        return score_tree(parts, heads)
    best, projective = -np.inf, np.empty_like(heads)
    if eisner_grandparents(parts, multi_root, projective) > -np.inf:
        climb(parts, multi_root, projective)
        best = score_tree(parts, projective)
    # Without crossing arcs it is no better than the best projective tree.
    if best == -np.inf or has_crossing_arcs(heads):
        climb(parts, multi_root, heads)
        score = score_tree(parts, heads)
        if score >= best:
            return score
    heads[:] = projective
    return best
