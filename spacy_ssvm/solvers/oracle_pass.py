"""Column generation: violated planes join the working sets."""

from ..kernels import kernel
from .dual_variables import total_alpha
from .planes import dot, find_plane
from .working_set import NONE, add, find, has_room


@kernel
def enter(oracle, data, example, weights, relief, delta, planes, plane):
    """Call the max-oracle; a plane violated by more than `delta`, less `relief`, joins the working set if it is new.

    Returns g of that plane, and False if there was no room.
    """
    size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
    slack = loss - dot(weights, plane.indices, plane.values, size)
    if slack - relief > delta and find(planes, example, plane, size, loss) == NONE:
        if not has_room(planes, size):
            return slack, False
        add(planes, example, plane, size, loss)
    return slack, True


@kernel
def tax(planes, example, C):
    """Σ_y α_i(y) / 2C: what the squared slack takes off each violation in the dual's derivative."""
    return total_alpha(planes, example) / (2.0 * C)


@kernel
def collect(oracle, data, examples, weights, C, delta, planes, plane):
    """All oracles at one w; C is that of the L2-loss, ∞ without it.

    Stops where the working set is full; returns visits, Σ ξ and Σ ξ².
    """
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        slack, fits = enter(oracle, data, example, weights, tax(planes, example, C), delta, planes, plane)
        if not fits:
            return visited, total, squares
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
    return len(examples), total, squares
