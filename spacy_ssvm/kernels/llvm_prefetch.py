"""Prefetching of memory in compiled kernels, by an LLVM intrinsic."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import lower_builtin, type_callable

from .prefetching import prefetch

_POINTER, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
_REQUEST = ir.FunctionType(ir.VoidType(), [_POINTER, _NUMBER, _NUMBER, _NUMBER])


def _typing(context: Any) -> Callable[[Any, Any], Any]:
    def typer(array: Any, index: Any) -> Any:
        return types.void(array, types.int64)

    return typer


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    element = builder.bitcast(builder.gep(data, [arguments[1]]), _POINTER)
    # For reading, into all levels of the cache, as data.
    options = _NUMBER(0), _NUMBER(3), _NUMBER(1)
    builder.call(builder.module.declare_intrinsic("llvm.prefetch", [_POINTER], _REQUEST), [element, *options])
    return context.get_dummy_value()


type_callable(prefetch)(_typing)
lower_builtin(prefetch, types.Array, types.int64)(_generate)
