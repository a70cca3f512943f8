"""Kernels made from Python functions, for Python callers, for other kernels, and as values in the data of kernels."""

from collections.abc import Callable
from functools import lru_cache
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np

from .announcement import LOGGER
from .numba_types import numba_type

KERNELS: list[Any] = []
"""Every kernel of this process, compiled or not."""
_COMPILING = RLock()
_CONFIG: Any = numba.config


class CacheStatistics(NamedTuple):
    """The number of times that a kernel's code was found on disk (hits) or compiled (misses) in this process."""

    name: str
    hits: int
    misses: int


@lru_cache(maxsize=1)
def compiler() -> ModuleType:
    """The module that makes kernels: `fast_compiler`, or `plain_compiler` if numba lacks the internals it needs."""
    if not _CONFIG.DISABLE_JIT:
        try:
            from . import fast_compiler

            return fast_compiler
        except (ImportError, AttributeError) as missing:
            LOGGER.warning(
                "Kernels are compiled by plain numba, which gives the same results but takes longer: numba %s lacks "
                "internals that spacy-ssvm builds on (%s). Install a version of numba that spacy-ssvm asks for",
                numba.__version__,
                missing,
            )
    from . import plain_compiler

    return plain_compiler


def kernel(function: Callable[..., Any]) -> Any:
    """Make `function` a nogil numba kernel, whose machine code is stored on disk if a folder is writable.

    With NUMBA_DISABLE_JIT it remains a Python function, in which 64-bit hashes overflow silently, as in machine code.
    """
    if _CONFIG.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    dispatcher = compiler().make_kernel(function)
    KERNELS.append(dispatcher)
    return dispatcher


def specialise(dispatcher: Any, *argument_types: Any) -> Any:
    """Compile a kernel for exactly the given numba types, or load it from the disk cache, once per process.

    Afterwards numba may not add overloads by itself: otherwise each structure's oracle, passed to a solver, would be
    compiled as a new type in every process instead of being called by address.
    """
    if _CONFIG.DISABLE_JIT:
        return dispatcher
    with _COMPILING:
        if argument_types not in dispatcher.overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(argument_types)
            dispatcher.disable_compile(True)
    return dispatcher


def fingerprint(arguments: tuple[Any, ...]) -> Any:
    """A hashable value that depends on the numba types of a kernel's arguments, and on nothing else."""
    return compiler().fingerprint(arguments)


class FirstClassFunction:
    """A kernel as a value in the data of other kernels, which call it by its address and are compiled without it.

    It is compiled for its single signature when its data are first passed to a kernel. An error in it, such as lack of
    memory, is printed but not raised: callers must be able to continue with their outputs as they were before the call.
    """

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self._dispatcher = dispatcher
        self._signature = signature
        # Both names are defined by numba: the type of a value, and the method that returns a function's address.
        self._numba_type_ = numba_type(signature)

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    def compile(self) -> None:
        """Compile the kernel, or load it from the disk cache, before its first use."""
        specialise(self._dispatcher, *self._signature.args)

    def __wrapper_address__(self) -> int:
        self.compile()
        compiled = self._dispatcher.get_compile_result(self._signature)
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def cache_statistics() -> list[CacheStatistics]:
    """The disk cache hits and misses of every kernel that this process has compiled or loaded."""
    statistics = []
    for kernel in KERNELS:
        compiled = [dispatcher for dispatcher in compiler().dispatchers(kernel) if dispatcher.overloads]
        if compiled:
            hits = sum(sum(dispatcher.stats.cache_hits.values()) for dispatcher in compiled)
            misses = sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in compiled)
            function = kernel.py_func
            statistics.append(CacheStatistics(f"{function.__module__}.{function.__name__}", hits, misses))
    return statistics
