"""The kernel contract: how every numba function of this package is compiled, cached and called."""

from .contract import (
    KERNELS,
    CacheStatistics,
    FirstClassFunction,
    cache_statistics,
    compiler,
    fingerprint,
    kernel,
    specialise,
)
from .numba_types import (
    ArrayType,
    Float32Array,
    Float32Array2d,
    Float64Array,
    Float64Array2d,
    Float64Array3d,
    Int8Array,
    Int32Array,
    Int32Array2d,
    Int64Array,
    Int64Array2d,
    UInt64Array,
    UInt64Array2d,
    UInt64Array3d,
    array_type,
    numba_type,
    signature,
)
from .sources import source_digest

prefetch = compiler().prefetch
"""prefetch(array, index), in kernels: start to fetch array[index] before it is used; array: [n], contiguous."""

__all__ = [
    "KERNELS",
    "ArrayType",
    "CacheStatistics",
    "FirstClassFunction",
    "Float32Array",
    "Float32Array2d",
    "Float64Array",
    "Float64Array2d",
    "Float64Array3d",
    "Int8Array",
    "Int32Array",
    "Int32Array2d",
    "Int64Array",
    "Int64Array2d",
    "UInt64Array",
    "UInt64Array2d",
    "UInt64Array3d",
    "array_type",
    "cache_statistics",
    "fingerprint",
    "kernel",
    "numba_type",
    "prefetch",
    "signature",
    "source_digest",
    "specialise",
]
