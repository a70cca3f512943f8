"""Log-partition and arc marginals of non-projective trees by the matrix-tree theorem (Koo et al. 2007)."""

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN
from .spanning import maximum_spanning_tree


@kernel
def _invert(matrix):
    """Gauss–Jordan with row pivots: `matrix` float64 [n, n] becomes its inverse. Returns log |det|, or −inf."""
    n = len(matrix)
    swaps = np.empty(n, np.int64)
    log_determinant = 0.0
    for k in range(n):
        pivot = k + np.argmax(np.abs(matrix[k:, k]))
        if matrix[pivot, k] == 0.0:
            return -np.inf
        swaps[k] = pivot
        if pivot != k:
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        log_determinant += np.log(abs(matrix[k, k]))
        scale = 1.0 / matrix[k, k]
        matrix[k, k] = 1.0
        matrix[k] *= scale
        for i in range(n):
            if i != k and matrix[i, k] != 0.0:
                factor = matrix[i, k]
                matrix[i, k] = 0.0
                matrix[i] -= factor * matrix[k]
    for k in range(n - 1, -1, -1):
        if swaps[k] != k:
            for i in range(n):
                matrix[i, k], matrix[i, swaps[k]] = matrix[i, swaps[k]], matrix[i, k]
    return log_determinant


@kernel
def tree_marginals(scores, multi_root, marginals):
    """log Σ exp(score) over all trees of a sentence, and the probability of each arc.

    scores: float64 [n + 1, n + 1], from head to modifier; FORBIDDEN where there is no arc, column 0 and the diagonal
    are not read. multi_root: whether several tokens may have head 0. marginals: float64 [n + 1, n + 1], filled.
    Returns the log-partition; −inf, and marginals of 0, where there is no tree. Where nearly all of a token's
    probability lies in arcs that form cycles, precision is lost: the trees are what is left of a difference.
    """
    n = len(scores) - 1
    marginals[:] = 0.0
    # A singular Laplacian would go unnoticed in rounding.
    if maximum_spanning_tree(scores, multi_root, np.empty(n + 1, np.int32)) <= FORBIDDEN / 2:
        return -np.inf
    potentials = np.zeros((n + 1, n + 1))
    total = 0.0
    for m in range(1, n + 1):
        highest = -np.inf
        for h in range(n + 1):
            if h != m:
                highest = max(highest, scores[h, m])
        total += highest
        for h in range(n + 1):
            if h != m and scores[h, m] > FORBIDDEN / 2:
                potentials[h, m] = np.exp(scores[h, m] - highest)
    inverse = np.empty((n, n))
    for m in range(1, n + 1):
        column = 0.0
        for h in range(0 if multi_root else 1, n + 1):
            column += potentials[h, m]
            if h > 0:
                inverse[h - 1, m - 1] = -potentials[h, m]
        inverse[m - 1, m - 1] = column
        if not multi_root:
            inverse[0, m - 1] = potentials[0, m]
    log_determinant = _invert(inverse)
    if log_determinant == -np.inf:
        return log_determinant
    for m in range(1, n + 1):
        marginals[0, m] = potentials[0, m] * (inverse[m - 1, m - 1] if multi_root else inverse[m - 1, 0])
        for h in range(1, n + 1):
            if potentials[h, m] > 0.0:
                # With a single root the first row of the Laplacian holds the root's arcs instead.
                own = inverse[m - 1, m - 1] if multi_root or m > 1 else 0.0
                other = inverse[m - 1, h - 1] if multi_root or h > 1 else 0.0
                marginals[h, m] = potentials[h, m] * (own - other)
    for m in range(1, n + 1):
        for h in range(n + 1):
            marginals[h, m] = min(1.0, max(0.0, marginals[h, m]))
    return total + log_determinant
