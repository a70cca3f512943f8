"""Log-partition and arc marginals of non-projective trees, without a subtraction and so without cancellation.

By the matrix-tree theorem (Koo et al. 2007) the sum over all trees is the determinant of a Laplacian, and a marginal is
a difference of two entries of its inverse, of which nothing is left where the probable arcs form cycles. The same
quantities belong to a random walk from modifiers to heads, with the arcs' potentials as rates, that ends at the root.
To eliminate tokens from it one after the other is Gaussian elimination of the Laplacian, but a pivot is the sum of the
rates that leave a token (Grassmann, Taksar & Heyman 1985). When m alone is left, its head is h with probability in
proportion to the rate from m to h times the probability that the walk from h ends before it comes to m. Every token is
left alone once: one half of the tokens is eliminated, then the other half instead, and each time the rest is halved in
the same way, which is O(n³) in all.

The trees with a single root are what is left of all trees when the root's arcs become infinitely improbable. Rates to
the root are kept by their order in that infinitesimal, 0 or 1, and of each sum the leading order counts.
"""

import math

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN

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
