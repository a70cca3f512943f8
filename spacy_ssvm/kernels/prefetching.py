"""Prefetching of memory, by an LLVM intrinsic."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_POINTER, _NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)
_REQUEST = ir.FunctionType(ir.VoidType(), [_POINTER, _NUMBER, _NUMBER, _NUMBER])


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    element = builder.bitcast(builder.gep(data, [arguments[1]]), _POINTER)
    # For reading, into all levels of the cache, as data.
    options = _NUMBER(0), _NUMBER(3), _NUMBER(1)
    builder.call(builder.module.declare_intrinsic("llvm.prefetch", [_POINTER], _REQUEST), [element, *options])
    return context.get_dummy_value()


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Start to fetch array[index] without waiting for it; array: [n], contiguous.

    A kernel that reads many distant elements thus has more fetches in flight than the processor would start by itself.
    """
    return types.void(array, types.int64), _generate
