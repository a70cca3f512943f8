"""numba types derived from Python annotations."""

from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

import numba
import numpy as np
from numba import types


class ArrayType(NamedTuple):
    """Annotation of a C-contiguous array that kernels may write to.

    dtype: the name of the element type. ndim: the number of dimensions.
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
Float64Array = Annotated[np.ndarray, ArrayType("float64", 1)]
Float64Array2d = Annotated[np.ndarray, ArrayType("float64", 2)]
Float64Array3d = Annotated[np.ndarray, ArrayType("float64", 3)]

_SCALARS = {int: types.int64, float: types.float64, bool: types.boolean, None: types.none, type(None): types.none}


def numba_type(annotation: Any) -> Any:
    """The numba type of the values that an annotation describes.

    annotation: `int`, `float`, `bool` or None, which become int64, float64, boolean and none; a tuple, such as
    `tuple[int, float]`; a NamedTuple class whose fields all have annotations; an array, such as `Int64Array`;
    `Annotated[FirstClassFunction, signature]`; a signature, for a function that is called by its address; or a numba
    type, which is returned as it is.

    Raises:
        TypeError: any other annotation.
    """
    origin = get_origin(annotation)
    if origin is Annotated:
        return numba_type(get_args(annotation)[1])
    if origin is tuple:
        return types.Tuple([numba_type(part) for part in get_args(annotation)])
    if isinstance(annotation, ArrayType):
        return types.Array(getattr(types, annotation.dtype), annotation.ndim, "C")
    if isinstance(annotation, types.Type):
        return annotation
    if hasattr(annotation, "return_type"):
        return types.FunctionType(annotation)
    if hasattr(annotation, "_fields"):
        fields = get_type_hints(annotation, include_extras=True)
        return types.BaseTuple.from_types([numba_type(fields[name]) for name in annotation._fields], annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    raise TypeError(f"no numba type is known for {annotation!r}")


def signature(returned: Any, *arguments: Any) -> Any:
    """The numba signature of a function, from the annotations of its result and of its arguments."""
    return numba_type(returned)(*map(numba_type, arguments))


def array_type(array: Any) -> Any:
    """The numba type of an argument; read-only arrays are refused, because they would need a second overload.

    Raises:
        TypeError: the argument is a read-only array.
    """
    kind: Any = cast(Any, numba.typeof)(array)
    if isinstance(kind, types.Array) and not kind.mutable:
        raise TypeError("a kernel was given a read-only array; copy it first")
    return kind
