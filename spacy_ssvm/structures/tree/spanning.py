"""Non-projective trees on dense scores: the best tree (Chu & Liu 1965, Edmonds 1967), log-partition, arc marginals.

By the matrix-tree theorem (Koo et al. 2007) the sum over all trees is the determinant of a Laplacian, and a marginal is
a difference of two entries of its inverse. That difference cancels where the probable arcs form cycles, so sums and
marginals are computed here without a subtraction, from a random walk from modifiers to heads that ends at the root,
with the arcs' potentials as rates. Eliminating tokens from the walk one by one is Gaussian elimination of the
Laplacian, except that a pivot is the sum of the rates that leave a token (Grassmann, Taksar & Heyman 1985). When all
tokens but m have been eliminated, the head of m is h with probability proportional to the rate from m to h times the
probability that the walk from h ends before it reaches m. Each token has to be the last one once: half of the tokens
are eliminated, then the other half instead, and the rest is halved in the same way each time, which is O(n³) in all.

The trees with a single root are the limit of all trees when the root's arcs become infinitely improbable. Rates to the
root are stored with their order in that infinitesimal, 0 or 1; the leading order of each sum counts.

Potentials are relative to the best arc into each token. Where every tree has potentials whose product underflows, the
elimination is repeated with logarithms of the rates.
"""

import math

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN
from .parts import NONE


@kernel
def _arborescence(scores, avoid_root, heads):
    """Write the best tree to heads; with avoid_root, the best of the trees with the fewest roots.

    Components are nodes or contracted cycles. arriving[c, u] is the score of the best arc from component u into c,
    minus the score of the cycle's arc it would replace. A path of best arcs is extended backwards until it meets the
    root or itself. Each component is searched once, and all cycles together have fewer than 2n members: O(n²).

    avoid_root orders trees by their number of root arcs first, and by score second. The number need not be stored: an
    arc from the root counts one more than any other arc into the same component, after any contraction, because no
    cycle contains an arc from the root. So an arc from the root is chosen only where there is no other.
    """
    n = len(scores) - 1
    size = 2 * n + 1
    arriving = np.full((size, size), -np.inf)
    arc_head, arc_modifier = np.zeros((size, size), np.int32), np.zeros((size, size), np.int32)
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                arriving[m, h], arc_head[m, h], arc_modifier[m, h] = scores[h, m], h, m
    alive, contracted_into = np.zeros(size, np.bool_), np.full(size, NONE, np.int32)
    alive[: n + 1] = True
    # 0: not yet on a path; 1: on the current path; 2: reaches the root.
    state = np.zeros(size, np.int8)
    state[0] = 2
    best, from_head, to_modifier = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    path = np.empty(size, np.int32)
    n_components = n + 1
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
                for u in range(1 if avoid_root else 0, n_components):
                    if alive[u] and u != component and arriving[component, u] > highest:
                        highest, source = arriving[component, u], u
                best[component] = source
                from_head[component], to_modifier[component] = (
                    arc_head[component, source],
                    arc_modifier[component, source],
                )
                component = source
                continue
            cycle = n_components
            n_components += 1
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
                    gain = arriving[c, u] - arriving[c, best[c]]
                    if gain > arriving[cycle, u]:
                        arriving[cycle, u], arc_head[cycle, u], arc_modifier[cycle, u] = (
                            gain,
                            arc_head[c, u],
                            arc_modifier[c, u],
                        )
                    if arriving[u, c] > arriving[u, cycle]:
                        arriving[u, cycle], arc_head[u, cycle], arc_modifier[u, cycle] = (
                            arriving[u, c],
                            arc_head[u, c],
                            arc_modifier[u, c],
                        )
            length = begin
            component = cycle
        for k in range(length):
            state[path[k]] = 2
    heads[0] = NONE
    for component in range(n_components - 1, 0, -1):
        if component <= n:
            heads[component] = from_head[component]
            continue
        # The arc into the cycle replaces the cycle's arc into the same member.
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

    Args:
        scores: float64 [n + 1, n + 1], from head to modifier, finite; column 0 and the diagonal are not read.
        multi_root: whether several tokens may have head 0.
        heads: int32 [n + 1], output; heads[0] = NONE.

    Returns:
        The tree's score.

    If the best tree has several roots but may have one only, the best tree with one root is searched in the same way,
    without a penalty in the scores that would cost precision. There always is a tree: it has as few FORBIDDEN arcs as
    possible. Equal scores always give the same tree.
    """
    _arborescence(scores, False, heads)
    if not multi_root and _n_roots(heads) > 1:
        _arborescence(scores, True, heads)
    return _total(scores, heads)


LOWEST_LOG_SUM = -600.0
"""Logarithm of a sum of products of potentials, each at most 1; underflowing products are negligible to it."""
N_ORDERS = 2
"""Number of columns of a walk before those of tokens: its end at the root, in order 0 and in order 1."""


@kernel
def _eliminate(walk, token, column):
    """Eliminate a token, to which `column` of the walk leads: the walk passes through it to the columns before.

    Returns log of the rate at which the walk leaves the token, −inf if never, and that rate's order.
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
def _eliminate_in_logs(walk, token, column):
    """Eliminate as `_eliminate` does, in a walk of logarithms of rates and probabilities."""
    leaving, order = walk[token], 0
    log_rate = leaving[0]
    for j in range(N_ORDERS, column):
        log_rate = np.logaddexp(log_rate, leaving[j])
    if log_rate == -np.inf:
        log_rate, order = leaving[1], 1
        if log_rate == -np.inf:
            return log_rate, order
        leaving[0], leaving[1] = log_rate, -np.inf
    for j in range(column):
        leaving[j] -= log_rate
    for i in range(len(walk)):
        passing = walk[i, column]
        if i != token and passing != -np.inf:
            for j in range(column):
                walk[i, j] = np.logaddexp(walk[i, j], passing + leaving[j])
    return log_rate, order


@kernel
def _head_marginals(potentials, walk, token, marginals):
    """Write the marginals of the heads of a token when all other tokens have been eliminated.

    Arguments as in `_isolate_each`. Returns log of the rate at which the walk leaves the token for the root, −inf if
    never, and that rate's order.
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
def _head_marginals_in_logs(potentials, walk, token, marginals):
    """Write marginals as `_head_marginals` does, from logarithms of potentials, rates and probabilities."""
    for order in range(N_ORDERS):
        log_rate = -np.inf
        for h in range(len(walk)):
            log_rate = np.logaddexp(log_rate, potentials[h, token] + walk[h, order])
        if log_rate > -np.inf:
            for h in range(len(walk)):
                marginals[h, token] = math.exp(potentials[h, token] + walk[h, order] - log_rate)
            return log_rate, order
    return -np.inf, 0


@kernel
def _isolate_each(potentials, walk, tokens, n_left, in_logs, marginals):
    """Eliminate all but the first n_left tokens, then write the head marginals of each of these in turn.

    potentials: float64 [n + 1, n + 1], from head to modifier; 0 on the diagonal.
    walk: float64 [n + 1, ≥ 2 + k], changed: from each token, a rate, or from the root or an eliminated token, a
        probability: to end, in order 0 and in order 1, and to move to each of the k tokens.
    tokens: int64 [k].
    in_logs: whether potentials and walk are logarithms.
    marginals: float64 [n + 1, n + 1], output, for the first n_left tokens.
    Returns log of the product of the pivots, −inf if one is 0, and its order.
    """
    log_product, orders = 0.0, 0
    for k in range(len(tokens) - 1, n_left - 1, -1):
        if in_logs:
            log_rate, order = _eliminate_in_logs(walk, tokens[k], N_ORDERS + k)
        else:
            log_rate, order = _eliminate(walk, tokens[k], N_ORDERS + k)
        log_product, orders = log_product + log_rate, orders + order
    if n_left == 1:
        if in_logs:
            log_rate, order = _head_marginals_in_logs(potentials, walk, tokens[0], marginals)
        else:
            log_rate, order = _head_marginals(potentials, walk, tokens[0], marginals)
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
    log_rest, order = _isolate_each(potentials, walk, tokens[:n_left], half, in_logs, marginals)
    # The product does not depend on the token that is left.
    log_same, _ = _isolate_each(potentials, swapped, swapped_tokens, n_left - half, in_logs, marginals)
    return log_product + min(log_rest, log_same), orders + order


@kernel
def _sum_over_trees(scores, multi_root, in_logs, marginals):
    """`tree_marginals` for at least one token, with potentials or with their logarithms.

    Returns −inf, and leaves the marginals undefined, where there is no tree or, without logarithms, where the products
    of potentials of trees that count may underflow.
    """
    n = len(scores) - 1
    end = 0 if multi_root else 1
    zero = -np.inf if in_logs else 0.0
    potentials, walk = np.full((n + 1, n + 1), zero), np.full((n + 1, N_ORDERS + n), zero)
    walk[0, end] = 0.0 if in_logs else 1.0
    total = 0.0
    for m in range(1, n + 1):
        highest = -np.inf
        for h in range(n + 1):
            if h != m:
                highest = max(highest, scores[h, m])
        total += highest
        for h in range(n + 1):
            if h != m and scores[h, m] > FORBIDDEN / 2:
                relative = scores[h, m] - highest
                potentials[h, m] = relative if in_logs else math.exp(relative)
                walk[m, end if h == 0 else N_ORDERS + h - 1] = potentials[h, m]
    log_determinant, order = _isolate_each(potentials, walk, np.arange(1, n + 1), n, in_logs, marginals)
    may_underflow = not in_logs and not log_determinant > LOWEST_LOG_SUM
    return total + log_determinant if order == end and not may_underflow else -np.inf


@kernel
def tree_marginals(scores, multi_root, marginals):
    """log Σ exp(score) over all trees of a sentence, and the probability of each arc, both to rounding.

    The probability of a very improbable arc may underflow to 0 where scores are hundreds apart.

    Args:
        scores: float64 [n + 1, n + 1], from head to modifier; FORBIDDEN where there is no arc, column 0 and the
            diagonal are not read.
        multi_root: whether several tokens may have head 0.
        marginals: float64 [n + 1, n + 1], output.

    Returns:
        The log-partition; −inf, and marginals of 0, where there is no tree.
    """
    marginals[:] = 0.0
    if len(scores) == 1:
        return 0.0
    log_partition = _sum_over_trees(scores, multi_root, False, marginals)
    # Rates that are divided by a rate near underflow overflow.
    if not (math.isfinite(log_partition) and np.all(np.isfinite(marginals))):
        log_partition = _sum_over_trees(scores, multi_root, True, marginals)
        if log_partition == -np.inf:
            marginals[:] = 0.0
    return log_partition
