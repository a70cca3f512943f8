"""numba types derived from Python annotations and from values."""

from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from numba import types
from numba.core.typing.typeof import Purpose, typeof

from .annotations import ArrayType, Signature

_SCALARS = {int: types.int64, float: types.float64, bool: types.boolean, None: types.none, type(None): types.none}


@cache
def numba_type(annotation: Any) -> Any:
    """The numba type of the values that an annotation describes.

    Args:
        annotation: `int`, `float`, `bool` or None, which become int64, float64, boolean and none; a tuple, such as
            `tuple[int, float]`; a NamedTuple class whose fields all have annotations; an array, such as `Int64Array`;
            `Annotated[FirstClassFunction, signature]`; a signature, which becomes the type of functions that are called
            by their address; or a numba type, which is returned unchanged.

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
    if isinstance(annotation, Signature):
        return types.FunctionType(numba_type(annotation.returned)(*map(numba_type, annotation.arguments)))
    if isinstance(annotation, types.Type):
        return annotation
    if hasattr(annotation, "_fields"):
        fields = get_type_hints(annotation, include_extras=True)
        return types.BaseTuple.from_types([numba_type(fields[name]) for name in annotation._fields], annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    raise TypeError(f"no numba type is known for {annotation!r}")


def array_type(array: Any) -> Any:
    """The numba type of an argument; read-only arrays are refused, because they would need a second overload.

    Raises:
        TypeError: the argument is a read-only array.
    """
    kind: Any = typeof(array)
    if isinstance(kind, types.Array) and not kind.mutable:
        raise TypeError("a kernel was given a read-only array; copy it first")
    return kind


def type_in_kernels(value: Any) -> Any:
    """The numba type of a value that a kernel's code names, such as another kernel's dispatcher."""
    return typeof(value, Purpose.constant)
