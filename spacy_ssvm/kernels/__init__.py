"""The kernel contract: how every numba function of this package is compiled, cached and called."""

from .contract import (
    KERNELS,
    CacheStatistics,
    FirstClassFunction,
    Kernel,
    array_type,
    cache_statistics,
    kernel,
    specialise,
)
from .disk_cache import source_digest

__all__ = [
    "KERNELS",
    "CacheStatistics",
    "FirstClassFunction",
    "Kernel",
    "array_type",
    "cache_statistics",
    "kernel",
    "source_digest",
    "specialise",
]
