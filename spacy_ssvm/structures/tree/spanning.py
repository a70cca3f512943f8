"""The maximum spanning tree: Chu & Liu 1965, Edmonds 1967, on dense scores."""

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN, NONE


@kernel
def _arborescence(scores, heads):
    """The best tree with any number of roots.

    Components are nodes or contracted cycles; arriving[c, u] is the best arc from component u into c, less the arc of
    the cycle that it would replace. A path of best arcs is grown backwards until it meets the root or itself.
    """
    n = len(scores) - 1
    most = 2 * n + 1
    arriving = np.full((most, most), -np.inf)
    tail, tip = np.zeros((most, most), np.int32), np.zeros((most, most), np.int32)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                arriving[m, h], tail[m, h], tip[m, h] = scores[h, m], h, m
    alive, contracted_into = np.zeros(most, np.bool_), np.full(most, NONE, np.int32)
    alive[: n + 1] = True
    # 0: not yet on a path; 1: on the present one; 2: reaches the root.
    state = np.zeros(most, np.int8)
    state[0] = 2
    best, from_head, to_modifier = np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32)
    path = np.empty(most, np.int32)
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
                for u in range(used):
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
                    if u > 0 and arriving[u, c] > arriving[u, cycle]:
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
    """The best non-projective tree; O(n²) for each cycle that has to be contracted.

    scores: float64 [n + 1, n + 1], from head to modifier, finite; column 0 and the diagonal are not read. multi_root:
    whether several tokens may have head 0. heads: int32 [n + 1], filled; heads[0] = NONE. Returns the tree's score.

    A single root is found by a penalty on the root's arcs that no other arcs can outweigh (Stanojević & Cohen 2021). It
    is no larger than the scores require, so that it costs no precision; only where every tree breaks candidates, all
    roots are tried in turn.
    """
    n = len(scores) - 1
    _arborescence(scores, heads)
    if multi_root or _n_roots(heads) <= 1:
        return _total(scores, heads)
    lowest, highest = np.inf, -np.inf
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m and scores[h, m] > FORBIDDEN / 2:
                lowest, highest = min(lowest, scores[h, m]), max(highest, scores[h, m])
    penalised = scores.copy()
    penalised[0] -= n * (highest - lowest) + 1.0
    _arborescence(penalised, heads)
    if _n_roots(heads) == 1:
        return _total(scores, heads)
    found, best = np.empty_like(heads), -np.inf
    for root in range(1, n + 1):
        penalised[0] = -np.inf
        penalised[0, root] = scores[0, root]
        _arborescence(penalised, found)
        if _total(scores, found) > best:
            best = _total(scores, found)
            heads[:] = found
    return best
