"""The score of a given tree."""

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN, NONE

_NO_CANDIDATE = -2
"""An inner neighbour whose arc is none of the candidates: no pair is listed with it."""


@kernel
def pair_score(starts, others, scores, arc, other):
    """The score of an arc's pair with another, 0 where it is not listed."""
    for k in range(starts[arc], starts[arc + 1]):
        if others[k] == other:
            return scores[k]
    return 0.0


@kernel
def score_tree(parts, heads):
    """The score of a tree, heads int32 [n + 1], as `Parts` defines it; an arc that is no candidate scores FORBIDDEN."""
    n = len(heads) - 1
    total = 0.0
    inner = np.empty(n + 1, np.int32)
    for rightward in (False, True):
        inner[:] = NONE
        for step in range(1, n + 1):
            m = step if rightward else n + 1 - step
            h = heads[m]
            if (h < m) != rightward:
                continue
            arc = parts.number[h, m]
            if arc == NONE:
                total += FORBIDDEN
                inner[h] = _NO_CANDIDATE
                continue
            total += parts.scores[arc]
            total += pair_score(parts.sibling_starts, parts.siblings, parts.sibling_scores, arc, inner[h])
            inner[h] = arc
            if h != 0:
                above = parts.number[heads[h], h]
                total += pair_score(parts.grand_starts, parts.grands, parts.grand_scores, arc, above)
    return total
