"""The sources that machine code is compiled from."""

import hashlib
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
_ROOMS = ("features", "structures", "solvers", "clustering", "models", "kernels")


@lru_cache(maxsize=1)
def source_digest() -> bytes:
    """SHA-256 of all source files that may contain kernels, constants that kernels read, or code that compiles them."""
    digest = hashlib.sha256()
    paths = [path for room in _ROOMS for path in (PACKAGE / room).rglob("*.py")]
    for path in sorted(paths):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()
