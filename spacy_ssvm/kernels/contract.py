"""Kernels made from Python functions, for Python callers, for other kernels, and as values in the data of kernels."""

from collections.abc import Callable
from functools import cached_property, lru_cache, partial, update_wrapper
from threading import RLock
from types import ModuleType
from typing import Any, NamedTuple

from .annotations import Signature
from .announcement import LOGGER

KERNELS: "list[Kernel]" = []
"""Every kernel that this process has used, compiled or not."""
_MAKING, _COMPILING = RLock(), RLock()


class CacheStatistics(NamedTuple):
    """The number of times that a kernel's code was found on disk (hits) or compiled (misses) in this process."""

    name: str
    hits: int
    misses: int


@lru_cache(maxsize=1)
def compiler() -> ModuleType:
    """The module that makes kernels: `fast_compiler`, or `plain_compiler` if numba lacks the internals it needs.

    It imports numba, which would take most of the time of a process that only resolves configs.
    """
    import numba

    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
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


class Kernel(partial[Any]):
    """A function that numba compiles for Python callers and other kernels; a proxy until its first use.

    The first use imports numba and makes the `dispatcher`, which compiles the function for the types that it meets.
    Then this becomes a `partial` of the dispatcher, without arguments, because Python calls that at no cost.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    _dispatcher: Any = None

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        # Kept, because another thread may be in it when the dispatcher takes its place.
        self._first_call = self._call_dispatcher
        self._set_called(self._first_call)

    @property
    def dispatcher(self) -> Any:
        """The numba dispatcher of the function; with NUMBA_DISABLE_JIT, a Python function."""
        if self._dispatcher is None:
            # Not within the lock, which a thread that compiles may wait for with locks that imports need.
            make = compiler().make_kernel
            with _MAKING:
                if self._dispatcher is None:
                    self._dispatcher = make(self.__wrapped__)
                    self._set_called(self._dispatcher)
                    KERNELS.append(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The numba type of this in the code of other kernels; numba reads it."""
        return compiler().type_in_kernels(self.dispatcher)

    def _call_dispatcher(self, *arguments: Any, **named: Any) -> Any:
        return self.dispatcher(*arguments, **named)

    def _set_called(self, function: Callable[..., Any]) -> None:
        self.__setstate__((function, (), {}, self.__dict__))  # type: ignore[attr-defined]

    def __reduce__(self) -> str:
        """Pickle the kernel as its name, like functions."""
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"


def kernel(function: Callable[..., Any]) -> Any:
    """Make `function` a nogil numba kernel, whose machine code is stored on disk if a folder is writable.

    With NUMBA_DISABLE_JIT it remains a Python function, in which 64-bit hashes overflow silently, as in machine code.
    """
    return Kernel(function)


def specialise(kernel: Kernel, *annotations: Any, arguments: tuple[Any, ...] = ()) -> Any:
    """Compile a kernel for exactly the given types, or load it from the disk cache, once per process.

    Afterwards numba may not add overloads by itself: otherwise each structure's oracle, passed to a solver, would be
    compiled as a new type in every process instead of being called by address.

    annotations: of the first parameters, as in `numba_types.numba_type`. arguments: values for the others, whose types
        they take.

    Returns the kernel's dispatcher.

    Raises:
        TypeError: an argument is a read-only array, or no numba type is known for an annotation.
    """
    dispatcher, numba_types = kernel.dispatcher, compiler()
    signature = (*map(numba_types.numba_type, annotations), *map(numba_types.array_type, arguments))
    # Without a compiler the dispatcher is a function.
    overloads = getattr(dispatcher, "overloads", {signature})
    with _COMPILING:
        if signature not in overloads:
            dispatcher.disable_compile(False)
            dispatcher.compile(signature)
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

    def __init__(self, kernel: Kernel, signature: Signature) -> None:
        self._kernel = kernel
        self._signature = signature

    def __call__(self, *arguments: Any) -> Any:
        return self._kernel(*arguments)

    def compile(self) -> None:
        """Compile the kernel, or load it from the disk cache, before its first use."""
        specialise(self._kernel, *self._signature.arguments)

    # Both names are defined by numba: the type of a value, and the method that returns a function's address.
    @cached_property
    def _numba_type_(self) -> Any:
        return compiler().numba_type(self._signature)

    def __wrapper_address__(self) -> int:
        self.compile()
        compiled = self._kernel.dispatcher.get_compile_result(self._numba_type_.signature)
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def cache_statistics() -> list[CacheStatistics]:
    """The disk cache hits and misses of every kernel that this process has compiled or loaded."""
    statistics = []
    for kernel in KERNELS:
        compiled = [dispatcher for dispatcher in compiler().dispatchers(kernel.dispatcher) if dispatcher.overloads]
        if compiled:
            hits = sum(sum(dispatcher.stats.cache_hits.values()) for dispatcher in compiled)
            misses = sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in compiled)
            statistics.append(CacheStatistics(f"{kernel.__module__}.{kernel.__name__}", hits, misses))
    return statistics
