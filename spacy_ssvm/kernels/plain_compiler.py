"""Kernels compiled and cached by numba itself, for versions of numba without the internals that `fast_compiler` uses.

With NUMBA_DISABLE_JIT, kernels are Python functions.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import overload

from .numba_types import array_type as array_type
from .numba_types import numba_type as numba_type
from .numba_types import type_in_kernels as type_in_kernels
from .prefetching import prefetch
from .sources import source_digest

_CONFIG: Any = numba.config


def make_kernel(function: Callable[..., Any]) -> Any:
    """The dispatcher of a kernel, not compiled yet, for Python callers and for other kernels.

    It is not stored on disk if no folder is writable, or if numba's cache cannot be made to notice changed callees.
    """
    if _CONFIG.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
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


def dispatchers(dispatcher: Any) -> tuple[Any, ...]:
    """The numba dispatchers that a kernel consists of: none if it is a Python function."""
    return () if _CONFIG.DISABLE_JIT else (dispatcher,)


def fingerprint(arguments: tuple[Any, ...]) -> Any:
    """The numba types of a kernel's arguments."""
    return tuple(map(array_type, arguments))


# Memory is fetched when it is read. numba compares the arguments with annotations, if there are any: a lambda has none.
overload(prefetch)(lambda array, index: lambda array, index: None)
