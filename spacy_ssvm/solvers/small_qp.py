"""Quadratic programmes over a few planes: max_α Σ_j α_j b_j − ½ αᵀGα for α ≥ 0, where G is the planes' Gram matrix."""

import numpy as np

from ..kernels import kernel

SMO_STEPS = 100_000
"""Pair steps of SMO, at most; reached only where rounding keeps the gap open."""

HILDRETH_PASSES = 10_000
"""Passes of Hildreth's algorithm, at most: if constraints contradict each other, α grows without bound; w does not."""


@kernel
def smo(gram, linear, alpha, tolerance):
    """Solve with Σ_j α_j fixed, by pair steps until the gap Σ_j α_j (max_k g_k − g_j), g = b − Gα, is in tolerance.

    A step moves α from q to p, where p has the largest g, and q gives the largest gain (Fan et al. 2005). alpha is the
    initial point, and receives the result.
    """
    size = len(alpha)
    g = linear.copy()
    for j in range(size):
        if alpha[j] > 0.0:
            for k in range(size):
                g[k] -= alpha[j] * gram[j, k]
    for _ in range(SMO_STEPS):
        p = int(np.argmax(g))
        q, step, best_gain, gap = p, 0.0, 0.0, 0.0
        for j in range(size):
            rise = g[p] - g[j]
            if alpha[j] > 0.0 and rise > 0.0:
                gap += alpha[j] * rise
                curvature = gram[p, p] + gram[j, j] - 2.0 * gram[p, j]
                # For equal ΔΦ, rounding may leave a curvature of either sign.
                moved = alpha[j] if alpha[j] * curvature <= rise else rise / curvature
                gain = moved * (rise - moved * max(0.0, curvature) / 2.0)
                if gain > best_gain:
                    q, step, best_gain = j, moved, gain
        if q == p or gap <= tolerance:
            return
        alpha[p] += step
        alpha[q] -= step
        for k in range(size):
            g[k] -= step * (gram[p, k] - gram[q, k])


@kernel
def hildreth(gram, linear, alpha, tolerance):
    """Solve with no bound on α, coordinate by coordinate, until a pass moves no constraint by more than `tolerance`.

    Censor & Zenios 1997. alpha is the initial point, and receives the result; it stays 0 for planes of zero norm, which
    no w can satisfy. If constraints contradict each other, the result satisfies the last one visited.
    """
    size = len(alpha)
    for _ in range(HILDRETH_PASSES):
        largest = 0.0
        for j in range(size):
            if gram[j, j] > 0.0:
                g = linear[j]
                for k in range(size):
                    g -= gram[j, k] * alpha[k]
                moved = max(0.0, alpha[j] + g / gram[j, j])
                largest = max(largest, abs(moved - alpha[j]) * gram[j, j])
                alpha[j] = moved
        if largest <= tolerance:
            return
