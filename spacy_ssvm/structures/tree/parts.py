"""What a tree is scored by: the candidate arcs of one sentence, and pairs of them."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Int32Array, Int32Array2d, Int64Array, kernel, signature
from .. import UNKNOWN as UNKNOWN

FORBIDDEN = -1e30
"""Score of an arc that is no candidate. Finite: where no tree keeps to the candidates, the best breaks the fewest."""

NONE = -1


class Parts(NamedTuple):
    """A arcs of a sentence of n tokens, with scores, and their pairs.

    Arcs are numbered by modifier, then by head. The score of a tree is the sum over its arcs (h, m), over its
    siblings and over its grandparents. Siblings: each arc a = (h, m) with its inner neighbour, the arc (h, s) to the
    child of h next to m on its way to h, on the same side, or with NONE where m is the first child on its side.
    Grandparents: each arc (h, m), h ≠ 0, with the arc (g, h). Pairs that are not listed score 0.

    number: int32 [n + 1, n + 1], the arc from head to modifier, or NONE.
    heads, modifiers: int32 [A].
    scores: float64 [A].
    sibling_starts: int64 [A + 1], first pair of each arc a with an inner neighbour.
    siblings: int32 [S], the inner arc or NONE, ascending for each a.
    sibling_scores: float64 [S].
    grand_starts: int64 [A + 1], first pair of each arc (h, m) with an arc (g, h).
    grands: int32 [G], the arc (g, h), ascending for each (h, m).
    grand_scores: float64 [G].
    """

    number: Int32Array2d
    heads: Int32Array
    modifiers: Int32Array
    scores: Float64Array
    sibling_starts: Int64Array
    siblings: Int32Array
    sibling_scores: Float64Array
    grand_starts: Int64Array
    grands: Int32Array
    grand_scores: Float64Array


DECODER = signature(float, Parts, bool, Int32Array)
"""The numba signature of what finds the best tree of `Parts`."""


ROOT_LABEL = 0
"""The label of every arc from the root, and of no other."""

PROJECTIVE, PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, SPANNING, LOOPY = range(5)
"""The structures: the best projective tree, of arcs, with siblings, with siblings and grandparents; the maximum
spanning tree, and the same with siblings and grandparents by loopy belief propagation."""


@kernel
def dense_scores(parts):
    """The arcs' scores as a matrix float64 [n + 1, n + 1], FORBIDDEN where there is no candidate."""
    n = len(parts.number) - 1
    scores = np.full((n + 1, n + 1), FORBIDDEN)
    for arc in range(len(parts.heads)):
        scores[parts.heads[arc], parts.modifiers[arc]] = parts.scores[arc]
    return scores


@kernel
def has_siblings(structure):
    """Whether a structure scores pairs of neighbouring siblings."""
    return structure in (PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, LOOPY)


@kernel
def has_grandparents(structure):
    """Whether a structure scores pairs of an arc and the arc above it."""
    return structure in (PROJECTIVE_GRANDPARENTS, LOOPY)


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
