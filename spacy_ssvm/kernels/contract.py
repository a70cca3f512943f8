"""How a Python function becomes a kernel, for callers in Python, for other kernels and as a value in their data."""

from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.core.typing.typeof import Purpose, typeof_impl

from .disk_cache import DiskCache
from .linking import linking_target

KERNELS: list["Kernel"] = []
_COMPILING = RLock()
_CONFIG: Any = numba.config


class CacheStatistics(NamedTuple):
    """What the compilation of one kernel has cost this process."""

    name: str
    hits: int
    misses: int


def kernel(function: Callable[..., Any]) -> Any:
    """Make `function` a nogil numba kernel, whose machine code is kept on disk wherever a folder can be written to.

    With NUMBA_DISABLE_JIT it stays a Python function, in which 64-bit hashes overflow as in machine code: silently.
    """
    if _CONFIG.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    dispatcher = Kernel(function, targetoptions={"nopython": True, "nogil": True})
    KERNELS.append(dispatcher)
    return dispatcher


class Kernel(CPUDispatcher):
    """A function that is compiled for callers in Python and, apart from that, as `inner`, for other kernels."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        super().__init__(function, *arguments, **options)
        self._cache = DiskCache(function, "outer")
        self.inner = _InnerKernel(function, targetoptions=self.targetoptions)

    def add_overload(self, compiled: Any) -> None:
        """Let the machine code find the environments of what it was linked from, as numba does for its own only."""
        for environment in compiled._find_referenced_environments():
            compiled.codegen.set_env(environment.env_name, environment)
        super().add_overload(compiled)


class _InnerKernel(CPUDispatcher):
    """What is only called by other kernels: a way in from Python or C would be as much work as the whole."""

    targetdescr = linking_target

    def __init__(self, function: Callable[..., Any], targetoptions: dict[str, Any]) -> None:
        no_way_in = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions={**targetoptions, **no_way_in})
        self._cache = DiskCache(function, "inner")

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Of a number in the caller's source only the type counts: numba would compile one version for each number."""
        typed = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return super().get_call_template(tuple(map(types.unliteral, arguments)), typed)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """What a kernel's code names is the inner one; what is passed as an argument needs the way in for C."""
    return types.Dispatcher(kernel.inner if context.purpose == Purpose.constant else kernel)


def specialise(dispatcher: Any, *argument_types: Any) -> Any:
    """Compile a kernel for exactly these numba types, or load it from the disk cache, once a process.

    Afterwards numba may not add overloads of its own: without that, each structure's oracle passed to a
    solver would be compiled in as a new type in every process, instead of being called by address.
    """
    if _CONFIG.DISABLE_JIT:
        return dispatcher
    with _COMPILING:
        if argument_types not in dispatcher.overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(argument_types)
            dispatcher.disable_compile(True)
    return dispatcher


class FirstClassFunction:
    """A kernel as a value in the data of others: they call it by its address instead of being compiled with it.

    It is compiled for its one signature when data that hold it first go to a kernel. An error in it, such as memory
    that is not to be had, is printed and not raised: callers must be able to go on with what they gave it to fill.
    """

    def __init__(self, dispatcher: Any, signature: Any) -> None:
        self._dispatcher = dispatcher
        self._signature = signature
        # Both names are numba's: what it asks any value for, and what it asks for the address of a function.
        self._numba_type_ = types.FunctionType(signature)

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    def compile(self) -> None:
        """Compile it, or load it from the disk cache, ahead of its first use."""
        specialise(self._dispatcher, *self._signature.args)

    def __wrapper_address__(self) -> int:
        self.compile()
        compiled = self._dispatcher.get_compile_result(self._signature)
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def array_type(array: Any) -> Any:
    """The numba type of an argument, read-only arrays refused: they would compile a second overload.

    Raises:
        TypeError: the argument is a read-only array.
    """
    kind: Any = cast(Any, numba.typeof)(array)
    if isinstance(kind, types.Array) and not kind.mutable:
        raise TypeError("a kernel was given a read-only array; copy it first")
    return kind


def cache_statistics() -> list[CacheStatistics]:
    """Disk cache hits and misses of every kernel this process has compiled or loaded."""
    found = []
    for kernel in KERNELS:
        compiled = [one for one in (kernel, kernel.inner) if one.overloads]
        if compiled:
            hits = sum(sum(one.stats.cache_hits.values()) for one in compiled)
            misses = sum(sum(one.stats.cache_misses.values()) for one in compiled)
            found.append(CacheStatistics(f"{kernel.py_func.__module__}.{kernel.py_func.__name__}", hits, misses))
    return found
