"""The maximum spanning tree: Chu & Liu 1965, Edmonds 1967, on dense scores."""

import numpy as np

from ...kernels import kernel
from .parts import NONE


@kernel
def _arborescence(scores, avoid_root, heads):
    """The best tree into heads; avoid_root: the best of those with the fewest roots, which is one.

    Components are nodes or contracted cycles; arriving[c, u] is the best arc from component u into c, less the arc of
    the cycle that it would replace. A path of best arcs is grown backwards until it meets the root or itself. Each
    component is searched once, and the cycles have fewer than 2n members in all, which makes it O(n²).

    To avoid the root is to order trees by the number of their root arcs first, by score second. Such pairs are compared
    without being stored: an arc from the root counts one more than any other arc into the same component, whatever has
    been contracted, because no cycle holds an arc from the root that it could replace. So it is taken where there is
    no other.
    """
    n = len(scores) - 1
    size = 2 * n + 1
    arriving = np.full((size, size), -np.inf)
    tail, tip = np.zeros((size, size), np.int32), np.zeros((size, size), np.int32)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                arriving[m, h], tail[m, h], tip[m, h] = scores[h, m], h, m
    alive, contracted_into = np.zeros(size, np.bool_), np.full(size, NONE, np.int32)
    alive[: n + 1] = True
    # 0: not yet on a path; 1: on the present one; 2: reaches the root.
    state = np.zeros(size, np.int8)
    state[0] = 2
    best, from_head, to_modifier = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    path = np.empty(size, np.int32)
    used = n + 1
    for start in range(1, n + 1):
        component = start
        while contracted_into[component] != NONE:
            component = contracted_into[component]
        length = 0
        while state[component] != 2:
            if state[component] == 0:
                state[component] = 1
                path[length] = component
                length += 1
                highest = -np.inf
                source = 0
                for u in range(1 if avoid_root else 0, used):
                    if alive[u] and u != component and arriving[component, u] > highest:
                        highest, source = arriving[component, u], u
                best[component] = source
                from_head[component], to_modifier[component] = tail[component, source], tip[component, source]
                component = source
                continue
            cycle = used
            used += 1
            alive[cycle] = True
            begin = length - 1
            while path[begin] != component:
                begin -= 1
            for k in range(begin, length):
                alive[path[k]] = False
                contracted_into[path[k]] = cycle
            for u in range(cycle):
                if not alive[u]:
                    continue
                for k in range(begin, length):
                    c = path[k]
                    saved = arriving[c, u] - arriving[c, best[c]]
                    if saved > arriving[cycle, u]:
                        arriving[cycle, u], tail[cycle, u], tip[cycle, u] = saved, tail[c, u], tip[c, u]
                    if arriving[u, c] > arriving[u, cycle]:
                        arriving[u, cycle], tail[u, cycle], tip[u, cycle] = arriving[u, c], tail[u, c], tip[u, c]
            length = begin
            component = cycle
        for k in range(length):
            state[path[k]] = 2
    heads[0] = NONE
    for component in range(used - 1, 0, -1):
        if component <= n:
            heads[component] = from_head[component]
            continue
        # The arc into the cycle takes the place of the one into the member that it reaches.
        member = to_modifier[component]
        while contracted_into[member] != component:
            member = contracted_into[member]
        from_head[member], to_modifier[member] = from_head[component], to_modifier[component]


@kernel
def _n_roots(heads):
    roots = 0
    for m in range(1, len(heads)):
        if heads[m] == 0:
            roots += 1
    return roots


@kernel
def _total(scores, heads):
    total = 0.0
    for m in range(1, len(heads)):
        total += scores[heads[m], m]
    return total


@kernel
def maximum_spanning_tree(scores, multi_root, heads):
    """The best non-projective tree, in O(n²).

    scores: float64 [n + 1, n + 1], from head to modifier, finite; column 0 and the diagonal are not read. multi_root:
    whether several tokens may have head 0. heads: int32 [n + 1], filled; heads[0] = NONE. Returns the tree's score.

    Where the best tree has several roots but must not, the best with one root is searched in the same way; no penalty
    enters the scores, and so no precision is lost. There always is a tree: where none keeps to the candidates, the one
    that breaks the fewest. Of equally good trees it is always the same one.
    """
    _arborescence(scores, False, heads)
    if not multi_root and _n_roots(heads) > 1:
        _arborescence(scores, True, heads)
    return _total(scores, heads)
