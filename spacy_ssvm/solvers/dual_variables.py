"""Sums over the dual variables of the working sets: w = Σ α ΔΦ, and the terms of the dual objective."""

from ..kernels import kernel
from .working_set import NONE, forget_all, plane_axpy


@kernel
def total_alpha(planes, example):
    """Σ_y α_i(y) over the example's working set."""
    total = 0.0
    p = planes.head[example]
    while p != NONE:
        total += planes.alpha[p]
        p = planes.next[p]
    return total


@kernel
def dual_slack(planes, example, C):
    """Σ_y α_i(y) / 2C: the ξ_i that belongs to the dual variables of the L2-loss, 0 for C = ∞.

    The derivative of the dual objective in α_i(y) is g_i(y) less this.
    """
    return total_alpha(planes, example) / (2.0 * C)


@kernel
def weighted_sum(planes, weights):
    """weights += Σ α ΔΦ over all planes: the map from the dual variables to w."""
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            plane_axpy(weights, planes.alpha[p], planes, p)
            p = planes.next[p]


@kernel
def dual_sums(planes):
    """Σ αΔ over all planes and Σ_i (Σ_y α_i(y))² over all examples."""
    linear, squares = 0.0, 0.0
    for example in range(len(planes.head)):
        total = 0.0
        p = planes.head[example]
        while p != NONE:
            linear += planes.alpha[p] * planes.loss[p]
            total += planes.alpha[p]
            p = planes.next[p]
        squares += total * total
    return linear, squares


@kernel
def remove_all(planes, examples, weights):
    """Empty the working sets of `examples` and take their planes out of w = Σ α ΔΦ."""
    for example in examples:
        p = planes.head[example]
        while p != NONE:
            plane_axpy(weights, -planes.alpha[p], planes, p)
            p = planes.next[p]
    forget_all(planes, examples)
