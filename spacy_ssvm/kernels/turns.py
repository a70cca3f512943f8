"""Turns: one of the processes that want the same kernel compiles it, and the others wait for the result."""

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

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
    """The file, opened once: to close any descriptor of it would end all turns of the process."""
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
