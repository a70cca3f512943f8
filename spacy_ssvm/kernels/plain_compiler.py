"""Kernels by numba's own compiler and disk cache, for versions of numba without the internals of `fast_compiler`.

With NUMBA_DISABLE_JIT, kernels are Python functions.
"""

from collections.abc import Callable
from typing import Any

import numba

from .numba_types import array_type
from .sources import source_digest


def make_kernel(function: Callable[..., Any]) -> Any:
    """A kernel, not compiled yet, for Python callers and for other kernels.

    It is not stored on disk if no folder is writable, or if numba's cache cannot be made to notice changed callees.
    """
    try:
        dispatcher: Any = numba.njit(nogil=True, cache=True)(function)
        file = dispatcher._cache._cache_file
        # numba itself regards machine code as current although a callee in another module has changed.
        if file._source_stamp:
            file._source_stamp = source_digest()
            return dispatcher
    except (RuntimeError, AttributeError):
        pass
    return numba.njit(nogil=True)(function)


def dispatchers(kernel: Any) -> tuple[Any, ...]:
    """The numba dispatchers that a kernel consists of."""
    return (kernel,)


def fingerprint(arguments: tuple[Any, ...]) -> Any:
    """The numba types of a kernel's arguments."""
    return tuple(map(array_type, arguments))


def _nothing(array: Any, index: Any) -> None:
    """No prefetching: memory is fetched when it is read."""


prefetch = make_kernel(_nothing)
