"""Column generation: the planes that are violated at one w, which stays as it is meanwhile."""

from ..kernels import kernel
from .planes import dot, find_plane
from .working_set import NONE, add, find, has_room


@kernel
def collect(oracle, data, examples, weights, planes, plane):
    """Add each example's most violated plane with α = 0, where it is new.

    Stops where the working set is full; returns visits, Σ ξ and Σ ξ².
    """
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        if slack > 0.0 and find(planes, example, plane, size, loss) == NONE:
            if not has_room(planes, size):
                return visited, total, squares
            add(planes, example, plane, size, loss)
        total += slack
        squares += slack * slack
    return len(examples), total, squares
