"""Prefetching of memory, as kernels ask for it."""

from typing import Any


def prefetch(array: Any, index: Any) -> None:
    """Start to fetch array[index] without waiting for it; array: [n], contiguous.

    A kernel that reads many distant elements thus has more fetches in flight than the processor would start by itself.
    In Python, and in kernels that plain numba compiles, it does nothing.
    """
