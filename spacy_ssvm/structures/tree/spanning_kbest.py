"""The k best non-projective trees, by splitting the rest of the trees around each one found (Lawler 1972)."""

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN
from .spanning import maximum_spanning_tree


@kernel
def _best_in(scores, multi_root, forced, banned, heads):
    """The best tree with these heads for tokens 1 … forced, and without that of token forced + 1 in `banned`.

    forced: how many tokens keep the head that they have in `heads` now. banned: bool [n + 1], heads.
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

    scores: float64 [n + 1, n + 1], as for `maximum_spanning_tree`. multi_root: whether several tokens may have head 0.
    Returns scores float64 [found] and heads int32 [found, n + 1]; trees with FORBIDDEN arcs do not count.
    """
    n = len(scores) - 1
    room = 1 + k * max(n, 1)
    totals, trees = np.full(room, -np.inf), np.empty((room, n + 1), np.int32)
    # A candidate is the best of those trees that agree with it on tokens 1 … agreed and avoid `banned` at the next one.
    agreed, banned = np.zeros(room, np.int64), np.zeros((room, n + 1), np.bool_)
    totals[0] = maximum_spanning_tree(scores, multi_root, trees[0])
    size, found = 1, 0
    best_totals, best_trees = np.empty(k), np.empty((k, n + 1), np.int32)
    while found < k:
        best = np.argmax(totals[:size])
        if totals[best] <= FORBIDDEN / 2:
            break
        best_totals[found], best_trees[found] = totals[best], trees[best]
        totals[best] = -np.inf
        found += 1
        if found == k:
            break
        for m in range(agreed[best] + 1, n + 1):
            trees[size] = best_trees[found - 1]
            agreed[size] = m - 1
            if m == agreed[best] + 1:
                banned[size] = banned[best]
            banned[size, best_trees[found - 1, m]] = True
            totals[size] = _best_in(scores, multi_root, m - 1, banned[size], trees[size])
            size += 1
    return best_totals[:found].copy(), best_trees[:found].copy()
