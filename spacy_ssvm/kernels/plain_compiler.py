"""Kernels by numba's own compiler and disk cache, where numba lacks the parts that `fast_compiler` builds on.

With NUMBA_DISABLE_JIT they are Python functions.
"""

from collections.abc import Callable
from typing import Any

import numba

from .sources import source_digest


def make_kernel(function: Callable[..., Any]) -> Any:
    """A kernel, not compiled yet, for callers in Python and for other kernels.

    It is not kept on disk where no folder can be written to, or where numba's cache cannot be told of changed callees.
    """
    try:
        dispatcher: Any = numba.njit(nogil=True, cache=True)(function)
        file = dispatcher._cache._cache_file
        # By itself numba takes machine code for current although a callee in another module has changed.
        if file._source_stamp:
            file._source_stamp = source_digest()
            return dispatcher
    except (RuntimeError, AttributeError):
        pass
    return numba.njit(nogil=True)(function)


def dispatchers(kernel: Any) -> tuple[Any, ...]:
    """The numba dispatchers that a kernel consists of."""
    return (kernel,)


def _nothing(array: Any, index: Any) -> None:
    """Memory is fetched when it is read."""


prefetch = make_kernel(_nothing)
