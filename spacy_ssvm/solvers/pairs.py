"""Pair steps: α moves from one plane of an example to another, from q to p, so that Σ_y α_i(y) = C is kept.

In a working set, the gold plane (ΔΦ = 0, Δ = 0) is not stored: NO_PLANE stands for it, and its α is C minus the sum of
the others.
"""

import numpy as np

from ..kernels import kernel
from .planes import PlaneBuffer, plane_buffer
from .problem import Problem
from .working_set import NO_PLANE, plane_dot, read_plane

PAIR_STEPS = 10
"""Pair steps in one visit, at most: more would refine an example's α against a w that the next visits move."""

NEGLIGIBLE_RISE = 1e-9
"""A difference of two g, in units of the loss, that pair steps ignore. The example's part of the gap, at most C times
this difference, is then negligible compared with C ξ of an example with a mistake."""


@kernel
def best_pair(example, weights, planes, gold_alpha):
    """The planes of largest g, and of smallest g with α > 0, among the working set and the gold plane.

    NO_PLANE stands for the gold plane, whose g is 0.

    Returns the first plane and its g, then the second plane and its g.
    """
    high, low = NO_PLANE, NO_PLANE
    g_high, g_low = 0.0, np.inf
    if gold_alpha > 0.0:
        g_low = 0.0
    p = planes.head[example]
    while p != NO_PLANE:
        g = planes.loss[p] - plane_dot(weights, planes, p)
        if g > g_high:
            high, g_high = p, g
        if g < g_low and planes.alpha[p] > 0.0:
            low, g_low = p, g
        p = planes.next[p]
    return high, g_high, low, g_low


@kernel
def pair_step(rise, limit, curvature):
    """The t in [0, limit] that maximises rise · t − curvature · t² / 2; for equal ΔΦ that is all or nothing."""
    if rise <= 0.0:
        return 0.0
    if limit * curvature <= rise:
        return limit
    return rise / curvature


@kernel
def move_alpha(planes, p, q, step):
    """α_p ← α_p + step, α_q ← α_q − step; the gold plane's α is not stored."""
    if p != NO_PLANE:
        planes.alpha[p] += step
    if q != NO_PLANE:
        planes.alpha[q] -= step


@kernel
def combine(a, p_indices, p_values, p_size, b, q_indices, q_values, q_size, indices, values):
    """Write a ΔΦ_p + b ΔΦ_q to `indices` and `values`, indices ascending, without zeros. Returns its size."""
    i, j, size = 0, 0, 0
    while i < p_size or j < q_size:
        index, value = np.int64(2**31), 0.0
        if i < p_size:
            index = np.int64(p_indices[i])
        if j < q_size:
            index = min(index, np.int64(q_indices[j]))
        if i < p_size and p_indices[i] == index:
            value += a * p_values[i]
            i += 1
        if j < q_size and q_indices[j] == index:
            value += b * q_values[j]
            j += 1
        if value != 0.0:
            indices[size] = index
            values[size] = value
            size += 1
    return size


def difference_buffer(problem: Problem) -> PlaneBuffer:
    """A buffer for the difference of two planes."""
    return plane_buffer(2 * problem.max_plane_entries)


@kernel
def plane_difference(planes, p, q, direction):
    """Write ΔΦ_p − ΔΦ_q to `direction`. Returns its size and Δ_p − Δ_q."""
    loss = 0.0
    if p != NO_PLANE:
        loss += planes.loss[p]
    if q != NO_PLANE:
        loss -= planes.loss[q]
    p_indices, p_values = read_plane(planes, p)
    q_indices, q_values = read_plane(planes, q)
    size = combine(
        1.0,
        p_indices,
        p_values,
        len(p_indices),
        -1.0,
        q_indices,
        q_values,
        len(q_indices),
        direction.indices,
        direction.values,
    )
    return size, loss


SMO_STEPS = 100_000
"""Pair steps of SMO, at most; reached only where rounding keeps the gap open."""


@kernel
def smo(gram, linear, alpha, tolerance):
    """Solve max_α Σ_j α_j b_j − ½ αᵀGα for α ≥ 0 with Σ_j α_j fixed, where G is the Gram matrix of a few planes.

    Pair steps go on until the gap Σ_j α_j (max_k g_k − g_j), g = b − Gα, is in tolerance. A step moves α from q to p,
    where p has the largest g, and q gives the largest gain (Fan et al. 2005). alpha is the initial point, and receives
    the result.
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
