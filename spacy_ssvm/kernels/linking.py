"""Compiling for other kernels only: neither optimised nor made into machine code before it is part of a caller.

numba does both for every function that it compiles, and then again, whole, for each of its callers.
"""

from copy import copy
from functools import cached_property
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import CPUTarget, cpu_target


class _Linked(JITCodeLibrary):
    """Code in LLVM's intermediate representation, which those who link it optimise together with their own."""

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
        """Nothing: the environment is for machine code, so that a caller sets it (`Kernel.add_overload`)."""


class _LinkingTarget(CPUTarget):
    """The processor as numba's own target has it, and sharing all that it knows, but for what becomes of the code."""

    @cached_property
    def _toplevel_target_context(self) -> Any:
        context: Any = copy(cpu_target.target_context)
        context._internal_codegen = copy(context._internal_codegen)
        context._internal_codegen.__class__ = _Linking
        return context

    @property
    def typing_context(self) -> Any:
        return cpu_target.typing_context


linking_target = _LinkingTarget("cpu")
