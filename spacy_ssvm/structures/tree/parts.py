"""The parts that a tree's score is a sum of: the candidate arcs of one sentence, and pairs of them."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Int32Array, Int32Array2d, Int64Array, kernel, signature
from .. import FORBIDDEN
from .. import UNKNOWN as UNKNOWN

NONE = -1
"""No arc, and no head."""


class Parts(NamedTuple):
    """The candidate arcs of a sentence of n tokens and their pairs, with scores; A is the number of arcs.

    Arcs are numbered by modifier, then by head. The score of a tree is the sum over its arcs (h, m), its sibling pairs
    and its grandparent pairs. A sibling pair is an arc (h, m) with its inner neighbour, the arc (h, s) to the next
    child of h between m and h, or with NONE if m is the first child of h on its side. A grandparent pair is an arc (h,
    m), h ≠ 0, with the arc (g, h). Pairs that are not listed score 0.

    Attributes:
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
"""The signature of the functions that find the best tree of `Parts`."""


ROOT_LABEL = 0
"""The label of every arc from the root, and of no other."""

PROJECTIVE, PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, SPANNING, SPANNING_GRANDPARENTS = range(5)
"""The structures: projective trees scored by arcs; with siblings; with siblings and grandparents; non-projective trees
scored by arcs (the maximum spanning tree); with siblings and grandparents, approximately."""


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
    return structure in (PROJECTIVE_SIBLINGS, PROJECTIVE_GRANDPARENTS, SPANNING_GRANDPARENTS)


@kernel
def has_grandparents(structure):
    """Whether a structure scores pairs of an arc and the arc above it."""
    return structure in (PROJECTIVE_GRANDPARENTS, SPANNING_GRANDPARENTS)


NO_CANDIDATE = -2
"""An arc that is not a candidate: no pair with it is listed."""


@kernel
def pair_score(starts, others, scores, arc, other):
    """The score of an arc's pair with another arc; 0 if the pair is not listed."""
    for k in range(starts[arc], starts[arc + 1]):
        if others[k] == other:
            return scores[k]
    return 0.0


@kernel
def score_tree(parts, heads):
    """The score of a tree, heads int32 [n + 1], as defined by `Parts`; arcs that are not candidates score FORBIDDEN."""
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
                inner[h] = NO_CANDIDATE
                continue
            total += parts.scores[arc]
            total += pair_score(parts.sibling_starts, parts.siblings, parts.sibling_scores, arc, inner[h])
            inner[h] = arc
            if h != 0:
                above = parts.number[heads[h], h]
                total += pair_score(parts.grand_starts, parts.grands, parts.grand_scores, arc, above)
    return total
