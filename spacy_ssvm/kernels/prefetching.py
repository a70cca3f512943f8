"""Asking for memory ahead of its use."""

from typing import Any

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


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Have array[index], [n] and contiguous, fetched meanwhile.

    A kernel that reads many places far apart keeps more requests under way with it than the processor does by itself.
    """
    return types.void(array, types.int64), _generate
