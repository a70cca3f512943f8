"""Machine code of kernels on disk, for later processes.

One of the processes that want the same kernel compiles it, in its turn; the others wait for the result.
"""

import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache, partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
from llvmlite.binding import add_symbol, parse_assembly, parse_bitcode
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime._nrt_python import c_helpers
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from ..files import replace_files
from .announcement import LOGGER, announce
from .machine_code import brought, environment, explain_absence
from .sources import PACKAGE, source_digest

_CONFIG: Any = numba.config


@lru_cache(maxsize=1)
def cache_folders() -> tuple[Path, ...]:
    """The folders that are searched for machine code; new code is stored in the first one that is writable.

    They are a subfolder of NUMBA_CACHE_DIR if that is set; otherwise one of the package, then one of the user's caches,
    if the user has a home.
    """
    subfolder = f"{PACKAGE.name}-{hashlib.sha256(os.fsencode(PACKAGE)).hexdigest()[:16]}"
    if _CONFIG.CACHE_DIR:
        return (Path(_CONFIG.CACHE_DIR) / subfolder,)
    user = Path(AppDirs("numba", appauthor=False).user_cache_dir)
    return PACKAGE / "__pycache__", *([user / subfolder] if user.is_absolute() else [])


class DiskCache(NullCache):
    """The disk cache of one kernel, in place of numba's own, which is unsafe here and slow to start.

    numba's cache regards machine code as current although a callee in another module has changed, does not read from
    folders that are not writable, and may confuse the files of processes that start at the same time. Here each file
    begins with a digest of its contents and of all sources that they were compiled from. A file that is damaged, or
    belongs to another version of the package, is replaced.
    """

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}-{kind}"
        self._turn = ExitStack()

    @property
    def cache_path(self) -> str:
        return str(cache_folders()[0])

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context in which no other process compiles this kernel, if this one has to."""
        outer, self._turn = self._turn, ExitStack()
        try:
            with self._turn:
                yield
        finally:
            self._turn = outer

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for the types `sig`, or None.

        Machine code needs the addresses of memory management only. The compilation target is initialised only if there
        is no machine code: that imports half of numba, and SciPy, and takes longer than everything else before a first
        prediction.
        """
        _name_memory_management()
        _, *target = target_context.codegen().magic_tuple()
        found = self._read(sig, target_context, *target)
        if found is None:
            self._wait_for_turn(self._file_name(sig, *target))
            found = self._read(sig, target_context, *target)
        if found is None:
            explain_absence(target[1])
            target_context.refresh()
            announce(self._name)
        return found

    def _wait_for_turn(self, name: str) -> None:
        for folder in cache_folders():
            with suppress(OSError):
                self._turn.enter_context(turn(folder, name))
                return

    def _read(self, sig: Any, target_context: Any, cpu: str, features: str) -> Any:
        for path in self._paths(sig, cpu, features):
            try:
                content = path.read_bytes()
            except OSError:
                continue
            if content[:32] == _digest(content[32:]):
                return _together(target_context, *_Unpickler(BytesIO(content[32:])).load())
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Store a kernel that has just been compiled, atomically: other processes find the whole file or none."""
        code = dumps(_apart(*cres._reduce()))
        _, *target = cres.codegen.magic_tuple()
        name = self._file_name(sig, *target)
        for folder in cache_folders():
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                replace_files(folder, {name: _digest(code) + code})
                return
        _warn_that_nothing_is_stored()

    def _paths(self, sig: Any, cpu: str, features: str) -> Iterator[Path]:
        """The files that may hold the kernel. The wheel's code comes first: it is the same on all machines."""
        code = brought(features)
        if code:
            yield code.folder / self._file_name(sig, *code.level)
        name = self._file_name(sig, cpu, features)
        for folder in cache_folders():
            yield folder / name

    def _file_name(self, sig: Any, cpu: str, features: str) -> str:
        key = repr((str(sig), cpu, features, *environment().values()))
        return f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.nbc"


@cache
def _name_memory_management() -> None:
    """Name the functions of numba's runtime that machine code calls, without compiling others, which it has inlined."""
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Unpickler(pickle.Unpickler):
    """Reads a compiled kernel without importing its source modules.

    A kernel that calls `max` of an array refers to numba's module of these functions, which imports SciPy.
    """

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The environment of a compiled function; only numba's object mode, which no kernel uses, looks at its globals."""
    if module in sys.modules or lookup_environment(name) is not None:
        return _rebuild_env(module, constants, name)
    function = SimpleNamespace(env_name=name, lookup_globals=lambda: {"__name__": module})
    environment = Environment.from_fndesc(function)
    environment.consts[:] = constants
    return environment


def _apart(library: Any, *rest: Any) -> tuple[tuple[Any, ...], list[str], bytes]:
    """The state of a compiled kernel and, apart, its symbols and the bitcode that numba adds to machine code.

    Numba would parse the bitcode to find the symbols, and callers that link the kernel need it. Few do: kernels call
    addresses, or inner kernels, which are nothing but bitcode. So in its place there is an empty module.
    """
    name, kind, code = library
    if kind != "object":
        return (library, *rest), [], b""
    machine_code, bitcode = code
    module = parse_bitcode(bitcode)
    symbols = [value.name for value in chain(module.functions, module.global_variables) if not value.is_declaration]
    return ((name, kind, (machine_code, parse_assembly("").as_bitcode())), *rest), symbols, bitcode


def _together(target_context: Any, state: tuple[Any, ...], symbols: list[str], bitcode: bytes) -> Any:
    """The compiled kernel that `_apart` has taken apart."""
    target_context.codegen()._engine._defined_symbols.update(symbols)
    compiled = CompileResult._rebuild(target_context, *state)
    if bitcode:
        compiled.library._get_module_for_linking = cache(partial(parse_bitcode, bitcode))
    return compiled


def _digest(code: bytes) -> bytes:
    return hashlib.sha256(source_digest() + code).digest()


@lru_cache(maxsize=1)
def _warn_that_nothing_is_stored() -> None:
    LOGGER.warning(
        "Compiled kernels cannot be kept, so that the next process compiles them again: none of the folders %s can be "
        "written to. Set NUMBA_CACHE_DIR to one that can",
        ", ".join(map(str, cache_folders())),
    )


FILE = "compiling.lock"
_INTERVAL = 0.05
"""Seconds between two attempts to begin a turn, where the system cannot wait by itself."""


@contextmanager
def turn(folder: Path, name: str) -> Iterator[None]:
    """Wait until no other process that uses this folder is in a turn of this name, and begin one.

    A turn that a process does not end ends with the process. Names are locked as single bytes, far apart, of one empty
    file, so that nothing is left to clean up.

    Raises:
        OSError: the folder cannot be written to, or its file system has no locks.
    """
    file, place = _open(folder / FILE, os.getpid()), int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
    _lock(file, place)
    try:
        yield
    finally:
        _unlock(file, place)


@cache
def _open(path: Path, process: int) -> int:
    """The file's descriptor, opened once: closing any descriptor of a file releases all locks of the process on it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, place: int) -> None:
        while True:
            try:
                os.lseek(file, place, os.SEEK_SET)
                return msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                time.sleep(_INTERVAL)

    def _unlock(file: int, place: int) -> None:
        os.lseek(file, place, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, place)

    def _unlock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
