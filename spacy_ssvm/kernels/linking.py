"""A numba target for kernels that only other kernels call: each caller optimises them together with its own code.

numba would optimise each of them and make it into machine code, and then do both again, as a whole, for each caller.
"""

from copy import copy
from functools import cached_property
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import CPUTarget, cpu_target


class _Linked(JITCodeLibrary):
    """Code in LLVM's intermediate representation, which a caller links and optimises together with its own."""

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
        """Nothing: an environment belongs to machine code, so that the caller sets it (`Kernel.add_overload`)."""


class _LinkingTarget(CPUTarget):
    """numba's own target for the processor, sharing all of its state; only code generation differs."""

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
