"""Non-projective trees with siblings and grandparents, approximately: climbing from the best projective tree.

After McDonald & Pereira 2006: as long as another head of a single token makes the tree better, the token gets its best
head. Most trees are projective or nearly so, so that few arcs have to be moved. If arcs cross in the best tree of
single arcs, a second climb starts from there. The better end is the result, so it never scores below the best
projective tree, nor below the best tree of single arcs.
"""

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN
from .parts import NO_CANDIDATE, NONE, dense_scores, pair_score, score_tree
from .projective_grandparents import eisner_grandparents, first_arcs_to
from .spanning import maximum_spanning_tree

MAX_SWEEPS = 10
"""The max number of visits of a climb to each token, so that it ends despite rounding."""


@kernel
def _number(parts, head, modifier):
    arc = parts.number[head, modifier]
    return np.int64(NO_CANDIDATE if arc == NONE else arc)


@kernel
def _sibling_score(parts, arc, inner):
    return pair_score(parts.sibling_starts, parts.siblings, parts.sibling_scores, arc, inner) if arc >= 0 else 0.0


@kernel
def _grand_score(parts, arc, above):
    return pair_score(parts.grand_starts, parts.grands, parts.grand_scores, arc, above) if arc >= 0 else 0.0


@kernel
def _next_child(heads, head, node, step, end):
    """The first modifier of a head from `node` on, in steps of 1 or −1, or `end`."""
    while node != end and heads[node] != head:
        node += step
    return node


@kernel
def _gain(parts, heads, children, head, modifier):
    """The change of a tree's score when a modifier without a head gets this one.

    Args:
        heads: int32 [n + 1].
        children: int64, the modifiers of the modifier.
    """
    arc, inwards = _number(parts, head, modifier), 1 if modifier < head else -1
    gain = parts.scores[arc] if arc >= 0 else FORBIDDEN
    inner_child = _next_child(heads, head, modifier + inwards, inwards, head)
    inner = np.int64(NONE) if inner_child == head else _number(parts, head, inner_child)
    gain += _sibling_score(parts, arc, inner)
    end = 0 if inwards == 1 else len(heads)
    outer_child = _next_child(heads, head, modifier - inwards, -inwards, end)
    if outer_child != end:
        outer = _number(parts, head, outer_child)
        gain += _sibling_score(parts, outer, arc) - _sibling_score(parts, outer, inner)
    if head != 0:
        gain += _grand_score(parts, arc, _number(parts, heads[head], head))
    for child in children:
        gain += _grand_score(parts, _number(parts, modifier, child), arc)
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
        best, best_head = _gain(parts, heads, children[:n_children], before, m), before
        for arc in range(first[m], first[m + 1]):
            head = parts.heads[arc]
            if head == before or (head == 0 and not multi_root) or _is_below(heads, head, m):
                continue
            gain = _gain(parts, heads, children[:n_children], head, m)
            if gain > best:
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
