"""The kernel contract: how every numba function of this package is compiled, cached and called."""

import hashlib
import logging
import os
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, cast
from uuid import uuid4

import numba
import numpy as np
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typing.typeof import Purpose, typeof_impl
from numba.misc.appdirs import AppDirs

LOGGER = logging.getLogger("spacy.ssvm")
KERNELS: list["Kernel"] = []
_PACKAGE = Path(__file__).parent
_COMPILING = RLock()
_CONFIG: Any = numba.config
_INTERVAL = 4.0
"""Seconds between two lines that say that the compiler is at work."""


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
    """Make `function` a nogil numba kernel, whose machine code is kept on disk wherever a folder can be written to.

    With NUMBA_DISABLE_JIT it stays a Python function, in which 64-bit hashes overflow as in machine code: silently.
    """
    if _CONFIG.DISABLE_JIT:
        return np.errstate(over="ignore")(function)
    dispatcher = Kernel(function, targetoptions={"nopython": True, "nogil": True})
    KERNELS.append(dispatcher)
    return dispatcher


class Kernel(CPUDispatcher):
    """A function that is compiled once for callers in Python and once, as `inner`, for those that are kernels.

    The way in from Python and the way in for C are as much work for the compiler as a whole kernel is, and most kernels
    are only called by others.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        super().__init__(function, *arguments, **options)
        self._cache = _Cache(function, "outer")
        no_way_in = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.inner = cast(Any, CPUDispatcher)(function, targetoptions={**self.targetoptions, **no_way_in})
        self.inner._cache = _Cache(function, "inner")


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """What a kernel's code names is the inner one; what is passed as an argument needs the way in for C."""
    return types.Dispatcher(kernel.inner if context.purpose == Purpose.constant else kernel)


@lru_cache(maxsize=1)
def cache_folders() -> tuple[Path, ...]:
    """Where machine code is looked for; it is kept in the first of them that can be written to.

    NUMBA_CACHE_DIR if that is set, else the package itself, else the user's folder for caches.
    """
    apart = f"{_PACKAGE.name}-{hashlib.sha256(os.fsencode(_PACKAGE)).hexdigest()[:16]}"
    if _CONFIG.CACHE_DIR:
        return (Path(_CONFIG.CACHE_DIR) / apart,)
    return _PACKAGE / "__pycache__", Path(AppDirs("numba", appauthor=False).user_cache_dir) / apart


class _Cache(NullCache):
    """The disk cache of one kernel, in place of numba's own, which is unsafe here and slow to start.

    numba's takes machine code for current although a callee in another module has changed, finds nothing in a folder
    that cannot be written to, and may mix up the files of processes that start at the same time. Here each file begins
    with a digest of its contents and of all sources that they were compiled from; another version of the package, or
    a damaged file, is not read but replaced.
    """

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}-{kind}"

    @property
    def cache_path(self) -> str:
        return str(cache_folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for the types `sig`, or None.

        Only if there is none is the target made ready to compile, which takes longer than all else that comes before
        a first prediction: it imports half of numba, and SciPy. Machine code needs nothing but memory management.
        """
        rtsys.initialize(target_context)
        name = self._file_name(sig, target_context.codegen())
        for folder in cache_folders():
            try:
                content = (folder / name).read_bytes()
            except OSError:
                continue
            if content[:32] == _digest(content[32:]):
                return CompileResult._rebuild(target_context, *pickle.loads(content[32:]))
        target_context.refresh()
        _announce(self._name)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep what has just been compiled; whoever reads it meanwhile finds the whole file or none."""
        code = dumps(cres._reduce())
        name = self._file_name(sig, cres.codegen)
        for folder in cache_folders():
            # With the rights that files usually have: whoever runs what another user has warmed up must read it.
            unfinished = folder / f"{name}.{uuid4().hex}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                unfinished.write_bytes(_digest(code) + code)
                os.replace(unfinished, folder / name)
                return
            except OSError:
                with suppress(OSError):
                    unfinished.unlink()
        _warn_that_nothing_is_kept()

    def _file_name(self, sig: Any, codegen: Any) -> str:
        types_and_machine = repr((str(sig), numba.__version__, sys.implementation.cache_tag, *codegen.magic_tuple()))
        return f"{self._name}-{hashlib.sha256(types_and_machine.encode()).hexdigest()[:16]}.nbc"


def _digest(code: bytes) -> bytes:
    return hashlib.sha256(source_digest() + code).digest()


class _Announcer:
    """Tells whoever waits for the compiler that it is at work: at once, and again every few seconds."""

    def __init__(self) -> None:
        self._n_compiled = 0
        self._last = -_INTERVAL

    def __call__(self, name: str) -> None:
        """The kernel of this name is about to be compiled."""
        now = time.monotonic()
        if now - self._last >= _INTERVAL:
            self._last = now
            if self._n_compiled:
                LOGGER.warning("Still compiling kernels, %d so far", self._n_compiled)
            else:
                LOGGER.warning(
                    "Compiling kernels for their first use, which takes some seconds for a component and solver, for a "
                    "parser more; the next process finds them. `spacy ssvm warmup` compiles all of them ahead"
                )
        LOGGER.info("Compiling %s", name)
        self._n_compiled += 1


_announce = _Announcer()


@lru_cache(maxsize=1)
def _warn_that_nothing_is_kept() -> None:
    LOGGER.warning(
        "Compiled kernels cannot be kept, so that the next process compiles them again: none of the folders %s can be "
        "written to. Set NUMBA_CACHE_DIR to one that can",
        ", ".join(map(str, cache_folders())),
    )


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


class FirstClass:
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
