"""Sorting that is compiled in no time."""

from ..kernels import kernel


@kernel
def shell_sort(keys):
    """Sort in place, ascending, by Shell's method with Knuth's gaps.

    For the few hundred keys of a plane it takes as long as numba's `sort`, which every kernel that calls it, directly
    or not, would have to be compiled with for more than a second.
    """
    gap = 1
    while gap < len(keys) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, len(keys)):
            key, place = keys[k], k
            while place >= gap and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                place -= gap
            keys[place] = key
        gap //= 3
