"""Non-projective trees on dense scores: the best tree (Chu & Liu 1965, Edmonds 1967), log-partition, arc marginals.

By the matrix-tree theorem (Koo et al. 2007) the sum over all trees is the determinant of a Laplacian, and a marginal is
a difference of two entries of its inverse. That difference cancels where the probable arcs form cycles, so sums and
marginals are computed here without a subtraction, as those of a random walk from modifiers to heads that ends at the
root, with the arcs' potentials as rates. Eliminating tokens from the walk one by one is Gaussian elimination of the
Laplacian, except that a pivot is the sum of the rates that leave a token (Grassmann, Taksar & Heyman 1985). When m
alone is left, its head is h with probability in proportion to the rate from m to h times the probability that the
walk from h ends before it comes to m. Every token is left alone once: one half of the tokens is eliminated, then the
other half instead, and each time the rest is halved in the same way, which is O(n³) in all.

The trees with a single root are the limit of all trees when the root's arcs become infinitely improbable. Rates to the
root are stored with their order in that infinitesimal, 0 or 1; the leading order of each sum counts.
"""

import math

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN, NONE


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


N_ORDERS = 2
"""Columns of a walk before those of tokens: its end at the root, in order 0 and in order 1."""


@kernel
def _eliminate(walk, token, column):
    """Let the walk pass through a token, to which `column` leads, to the columns before it.

    Returns log of the rate at which it leaves the token, −inf if never, and that rate's order.
    """
    leaving, order = walk[token], 0
    rate = leaving[0] + np.sum(leaving[N_ORDERS:column])
    if rate == 0.0:
        rate, order = leaving[1], 1
        if rate == 0.0:
            return -np.inf, order
        leaving[0], leaving[1] = rate, 0.0
    for j in range(column):
        leaving[j] /= rate
    for i in range(len(walk)):
        passing = walk[i, column]
        if i != token and passing != 0.0:
            for j in range(column):
                walk[i, j] += passing * leaving[j]
    return math.log(rate), order


@kernel
def _left_alone(potentials, walk, token, marginals):
    """Write the marginals of the token's heads; returns log of the rate at which it leaves for the root, and its order.

    The arguments are those of `_leave_alone`, with all other tokens eliminated.
    """
    for order in range(N_ORDERS):
        rate = 0.0
        for h in range(len(walk)):
            if h != token:
                marginals[h, token] = potentials[h, token] * walk[h, order]
                rate += marginals[h, token]
        if rate > 0.0:
            for h in range(len(walk)):
                marginals[h, token] /= rate
            return math.log(rate), order
    return -np.inf, 0


@kernel
def _leave_alone(potentials, walk, tokens, n_left, marginals):
    """Eliminate all but the first n_left tokens, then leave each of these alone.

    potentials: float64 [n + 1, n + 1], from head to modifier; 0 on the diagonal.
    walk: float64 [n + 1, ≥ 2 + k], changed: from each token, a rate, or from the root or an eliminated token, a
        probability: to end, in order 0 and in order 1, and to come to each of the k tokens.
    tokens: int64 [k].
    marginals: float64 [n + 1, n + 1], filled for the tokens left.
    Returns log of the product of the pivots, −inf if one is 0, and its order.
    """
    log_product, orders = 0.0, 0
    for k in range(len(tokens) - 1, n_left - 1, -1):
        log_rate, order = _eliminate(walk, tokens[k], N_ORDERS + k)
        log_product, orders = log_product + log_rate, orders + order
    if n_left == 1:
        log_rate, order = _left_alone(potentials, walk, tokens[0], marginals)
        return log_product + log_rate, orders + order
    half = n_left // 2
    end = N_ORDERS + n_left
    swapped, swapped_tokens = np.empty((len(walk), end)), np.empty(n_left, np.int64)
    for k in range(n_left):
        swapped_tokens[k] = tokens[(k + half) % n_left]
    for row in range(len(walk)):
        for order in range(N_ORDERS):
            swapped[row, order] = walk[row, order]
        for k in range(n_left):
            swapped[row, N_ORDERS + k] = walk[row, N_ORDERS + (k + half) % n_left]
    log_rest, order = _leave_alone(potentials, walk, tokens[:n_left], half, marginals)
    # The product is the same whichever token is left.
    log_same, _ = _leave_alone(potentials, swapped, swapped_tokens, n_left - half, marginals)
    return log_product + min(log_rest, log_same), orders + order


@kernel
def tree_marginals(scores, multi_root, marginals):
    """log Σ exp(score) over all trees of a sentence, and the probability of each arc, both to rounding.

    scores: float64 [n + 1, n + 1], from head to modifier; FORBIDDEN where there is no arc, column 0 and the diagonal
    are not read. multi_root: whether several tokens may have head 0. marginals: float64 [n + 1, n + 1], filled.
    Returns the log-partition; −inf, and marginals of 0, where there is no tree. What exp brings to 0 counts as none: an
    arc that scores 700 less than another of its token, or a path whose arcs do so together.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    if n == 0:
        return 0.0
    potentials, walk = np.zeros((n + 1, n + 1)), np.zeros((n + 1, N_ORDERS + n))
    end = 0 if multi_root else 1
    walk[0, end] = 1.0
    total = 0.0
    for m in range(1, n + 1):
        highest = -np.inf
        for h in range(n + 1):
            if h != m:
                highest = max(highest, scores[h, m])
        total += highest
        for h in range(n + 1):
            if h != m and scores[h, m] > FORBIDDEN / 2:
                potentials[h, m] = math.exp(scores[h, m] - highest)
                walk[m, end if h == 0 else N_ORDERS + h - 1] = potentials[h, m]
    log_determinant, order = _leave_alone(potentials, walk, np.arange(1, n + 1), n, marginals)
    if log_determinant == -np.inf or order != end:
        marginals[:] = 0.0
        return -np.inf
    return total + log_determinant
