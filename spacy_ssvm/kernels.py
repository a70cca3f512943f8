"""The kernel contract: how every numba function of this package is compiled, cached and called."""

import hashlib
import logging
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numba
from numba.core import types

LOGGER = logging.getLogger("spacy")
KERNELS: list[Any] = []
_PACKAGE = Path(__file__).parent


class CacheStatistics(NamedTuple):
    """What the compilation of one kernel has cost this process."""

    name: str
    hits: int
    misses: int


@lru_cache(maxsize=1)
def source_digest() -> bytes:
    """SHA-256 of every source file that can hold a kernel or a constant that a kernel reads."""
    digest = hashlib.sha256()
    paths = [path for room in ("features", "structures", "solvers") for path in (_PACKAGE / room).rglob("*.py")]
    for path in sorted([Path(__file__), *paths]):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Make `function` a nogil numba kernel, cached on disk wherever numba finds a writable place.

    Where no place is writable the kernel is compiled anew in each process.
    """
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        dispatcher = numba.njit(nogil=True)(function)
    else:
        _trust_only_present_sources(cast(Any, dispatcher)._cache._cache_file)
    KERNELS.append(dispatcher)
    return dispatcher


def _trust_only_present_sources(cache_file: Any) -> None:
    """Make numba take nothing from a kernel's cache file that other sources than the present ones have left there.

    numba stamps a cache entry with the kernel's own file only, so that a change in a callee of another module would go
    unnoticed: the stamp is replaced by the digest of all kernel sources. It unpickles an index before it looks at the
    stamp, which fails where an older version names a class that is gone: such an index counts as empty.
    """
    load_index = cache_file._load_index

    def load_index_or_nothing() -> Any:
        try:
            return load_index()
        except Exception:
            return {}

    cache_file._source_stamp = source_digest()
    cache_file._load_index = load_index_or_nothing


def specialise(dispatcher: Any, *argument_types: Any) -> Any:
    """Compile a kernel for exactly these numba types, or load it from the disk cache, once a process.

    Afterwards numba may not add overloads of its own: without that, each structure's oracle passed to a
    solver would be compiled in as a new type in every process, instead of being called by address.
    """
    if argument_types not in dispatcher.overloads:
        misses, started = _misses(dispatcher), time.perf_counter()
        dispatcher.disable_compile(False)
        dispatcher.compile(argument_types)
        dispatcher.disable_compile(True)
        if _misses(dispatcher) > misses:
            LOGGER.info(
                "Compiled %s in %.1f s (kept for the next process)",
                dispatcher.py_func.__name__,
                time.perf_counter() - started,
            )
    return dispatcher


class FirstClass:
    """A kernel as a value in the data of others: they call it by its address instead of being compiled with it.

    It is compiled for its one signature when data that hold it first go to a kernel.
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
    return [
        CacheStatistics(f"{k.py_func.__module__}.{k.py_func.__name__}", sum(k.stats.cache_hits.values()), _misses(k))
        for k in KERNELS
        if k.overloads
    ]


def _misses(dispatcher: Any) -> int:
    return int(sum(dispatcher.stats.cache_misses.values()))
