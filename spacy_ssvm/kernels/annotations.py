"""Annotations for the types of kernels' data and arguments, without importing numba."""

from typing import Annotated, Any, NamedTuple

import numpy as np


class ArrayType(NamedTuple):
    """Annotation of a C-contiguous array that kernels may write to.

    Attributes:
        dtype: the name of the element type.
        ndim: the number of dimensions.
    """

    dtype: str
    ndim: int


Int8Array = Annotated[np.ndarray, ArrayType("int8", 1)]
Int32Array = Annotated[np.ndarray, ArrayType("int32", 1)]
Int32Array2d = Annotated[np.ndarray, ArrayType("int32", 2)]
Int64Array = Annotated[np.ndarray, ArrayType("int64", 1)]
Int64Array2d = Annotated[np.ndarray, ArrayType("int64", 2)]
UInt64Array = Annotated[np.ndarray, ArrayType("uint64", 1)]
UInt64Array2d = Annotated[np.ndarray, ArrayType("uint64", 2)]
UInt64Array3d = Annotated[np.ndarray, ArrayType("uint64", 3)]
Float32Array = Annotated[np.ndarray, ArrayType("float32", 1)]
Float32Array2d = Annotated[np.ndarray, ArrayType("float32", 2)]
Float32Array3d = Annotated[np.ndarray, ArrayType("float32", 3)]
Float64Array = Annotated[np.ndarray, ArrayType("float64", 1)]
Float64Array2d = Annotated[np.ndarray, ArrayType("float64", 2)]


class Signature(NamedTuple):
    """The signature of a function that is called by its address: annotations of its result and of its arguments."""

    returned: Any
    arguments: tuple[Any, ...]


def signature(returned: Any, *arguments: Any) -> Signature:
    """The signature of a function, from the annotations of its result and of its arguments."""
    return Signature(returned, arguments)
