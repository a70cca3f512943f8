"""Kernels that start fast: compiled once for Python callers, once, in less time, for other kernels; stored on disk.

This module and `disk_cache` use internals of numba. Only `contract.compiler` imports them, and falls back to
`plain_compiler` if one of these internals is missing.
"""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir
from numba._dispatcher import compute_fingerprint
from numba.core import types
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, CPUTarget, cpu_target
from numba.core.typing.typeof import Purpose, typeof_impl
from numba.extending import lower_builtin, type_callable
from numba.np.numpy_support import FROM_DTYPE, map_layout

from .disk_cache import DiskCache
from .numba_types import array_type as array_type
from .numba_types import numba_type as numba_type
from .numba_types import type_in_kernels as type_in_kernels
from .prefetching import prefetch


class _Linked(JITCodeLibrary):
    """Code in LLVM's intermediate representation, which a caller links and optimises together with its own code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()


class _Linking(JITCPUCodegen):
    _library_class = _Linked

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: an environment belongs to machine code, so the caller sets it (`_OuterKernel.add_overload`)."""


class _LinkingTarget(CPUTarget):
    """numba's CPU target, with which it shares all state; only code generation differs."""

    @cached_property
    def _toplevel_target_context(self) -> Any:
        context: Any = copy(cpu_target.target_context)
        codegen = copy(context.codegen())
        codegen.__class__ = _Linking
        context._internal_codegen = codegen
        return context

    @property
    def typing_context(self) -> Any:
        return cpu_target.typing_context


linking_target = _LinkingTarget("cpu")


_USED = {
    BaseContext: ("refresh", "make_array"),
    CompileResult: ("_find_referenced_environments", "_rebuild", "_reduce"),
    CPUDispatcher: (
        "add_overload",
        "compile",
        "get_call_template",
        "get_compile_result",
        "targetdescr",
        "typeof_pyval",
    ),
    CPUTarget: ("_toplevel_target_context", "typing_context"),
    JITCPUCodegen: ("_library_class", "magic_tuple", "set_env"),
    JITCodeLibrary: (
        "_finalize_final_module",
        "_get_module_for_linking",
        "_optimize_final_module",
        "_verify_declare_only_symbols",
        "serialize_using_bitcode",
        "serialize_using_object_code",
    ),
}
"""Attributes of numba's classes that are used only after import; the lack of others raises an error at import."""
for _class, _names in _USED.items():
    for _name in _names:
        getattr(_class, _name)


def make_kernel(function: Callable[..., Any]) -> Any:
    """The dispatcher of a kernel, not compiled yet."""
    return _OuterKernel(function, targetoptions={"nopython": True, "nogil": True})


def dispatchers(dispatcher: Any) -> tuple[Any, ...]:
    """The numba dispatchers that a kernel consists of, by the one that Python calls."""
    return dispatcher, dispatcher.inner


def fingerprint(arguments: tuple[Any, ...]) -> bytes:
    """The key by which numba itself looks up compiled code: the types of a kernel's arguments as bytes."""
    types_as_bytes: bytes = compute_fingerprint(arguments)
    return types_as_bytes


def _kind(value: Any) -> Any:
    """A key of an argument's type, which takes less time to make than the type."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    if type(value) is int:
        return int, value.bit_length() < 64
    return type(value) if isinstance(value, float | bool | np.generic) else value


class _Stored(CPUDispatcher):
    """A dispatcher that looks for its machine code on disk, and compiles it in its process's turn."""

    _cache: DiskCache
    _types_active_call: set[Any]

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        super().__init__(function, *arguments, **options)
        self._tuples: dict[Any, Any] = {}
        self._results: dict[int, tuple[Any, Any]] = {}

    def compile(self, argument_types: Any) -> Any:
        # With the lock, because a turn belongs to the process, not to the thread that compiles.
        with global_compiler_lock, self._cache.turn():
            return super().compile(argument_types)

    def typeof_pyval(self, val: Any) -> Any:
        """The type of an argument. To find that of an array, numba itself would import `numpy.ma`."""
        if isinstance(val, tuple):
            # numba asks for it in each call where functions are among the parts.
            kind = _kind(val)
            found = self._tuples.get(kind)
            if found is None:
                found = types.BaseTuple.from_types([self.typeof_pyval(part) for part in val], type(val))
                self._tuples[kind] = found
        elif type(val) is np.ndarray and val.dtype in FROM_DTYPE:
            found = types.Array(FROM_DTYPE[val.dtype], val.ndim, map_layout(val), readonly=not val.flags.writeable)
        else:
            return super().typeof_pyval(val)
        self._types_active_call.add(found)
        return found

    def get_compile_result(self, sig: Any) -> Any:
        """The compiled code of a signature, which numba asks for in each call that passes this function.

        By the signature's identity: to hash its types takes longer than many a kernel runs.
        """
        known = self._results.get(id(sig))
        if known is None or known[0] is not sig:
            known = self._results[id(sig)] = sig, super().get_compile_result(sig)
        return known[1]


class _OuterKernel(_Stored):
    """A function that is compiled for Python callers and, separately, as `inner`, for other kernels."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        super().__init__(function, *arguments, **options)
        self._cache = DiskCache(function, "outer")

    @cached_property
    def inner(self) -> Any:
        """The kernel that other kernels call; not needed in a process that finds all machine code in the cache."""
        return _InnerKernel(self.py_func, targetoptions=self.targetoptions)

    def add_overload(self, compiled: Any) -> None:
        """Set the environments of all functions that the machine code was linked from.

        numba itself sets only the function's own environment.
        """
        for environment in compiled._find_referenced_environments():
            compiled.codegen.set_env(environment.env_name, environment)
        super().add_overload(compiled)


class _InnerKernel(_Stored):
    """A kernel for other kernels only, without entry points for Python and C, which would double its compile time."""

    targetdescr = linking_target

    def __init__(self, function: Callable[..., Any], targetoptions: dict[str, Any]) -> None:
        no_entry_points = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions={**targetoptions, **no_entry_points})
        self._cache = DiskCache(function, "inner")

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Use only the types of literal numbers: numba would compile a separate version for each number."""
        typed = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return super().get_call_template(tuple(map(types.unliteral, arguments)), typed)


@typeof_impl.register(_OuterKernel)
def _type_of_kernel(kernel: _OuterKernel, context: Any) -> Any:
    """The inner kernel if it is named in another kernel's code; an argument needs the entry point for C."""
    return types.Dispatcher(kernel.inner if context.purpose == Purpose.constant else kernel)


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
