"""Asking for memory ahead of its use."""

from typing import Any, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_PLACE, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)

_REQUEST = ir.FunctionType(ir.VoidType(), [_PLACE, _NUMBER, _NUMBER, _NUMBER])


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    element = builder.bitcast(builder.gep(data, [arguments[1]]), _PLACE)
    # To read it, into all levels of the cache, as data.
    how = _NUMBER(0), _NUMBER(3), _NUMBER(1)
    builder.call(builder.module.declare_intrinsic("llvm.prefetch", [_PLACE], _REQUEST), [element, *how])
    return context.get_dummy_value()


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Have array[index], [n] and contiguous, fetched meanwhile.

    Where much is read from places far apart, this keeps more requests under way than the processor has by itself.
    """
    return types.void(array, types.int64), _generate


def _nothing(array: Any, index: Any) -> None:
    """What it is where kernels are Python functions."""


prefetch: Any = _nothing if cast(Any, numba).config.DISABLE_JIT else intrinsic(_prefetch)
