"""Large NumPy arrays in files instead of private memory, by a policy of allocation of our own (NEP 49).

Pages of a shared mapping of a file do not count for RLIMIT_DATA, and where memory is short, the system writes them to
the file and drops them. A file loses its name as soon as it is made, so that it vanishes when its process ends, or is
killed.

A header precedes each array: two numbers, int64: the array's bytes, and the bytes that its file has room for, 0 for
an array without a file. Functions that NumPy calls get and return addresses, int64; 0 stands for no array.
"""

import ctypes
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .annotations import signature
from .contract import FirstClassFunction, kernel

MIN_MAPPED = 1 << 16
"""Bytes of an array that gets a file."""

HEADER, MAPPED_HEADER = 16, 64
"""Bytes of the header, of arrays without and with a file: arrays stay aligned, to 16 and 64 bytes."""

READ_WRITE, SHARED, MAY_MOVE, FAILED = 3, 1, 1, -1
"""PROT_READ | PROT_WRITE, MAP_SHARED, MREMAP_MAYMOVE and MAP_FAILED on Linux."""

SET_HANDLER = 304
"""The place of PyDataMem_SetHandler in the table of NumPy's C API, since NumPy 1.22."""


def _libc(name: str, n_arguments: int, returns: Any = types.int64) -> Any:
    """A function of the C library as kernels call it; pointers and sizes are int64."""
    return types.ExternalFunction(name, returns(*[types.int64] * n_arguments))


_malloc, _calloc, _realloc, _free = _libc("malloc", 1), _libc("calloc", 2), _libc("realloc", 2), _libc("free", 1)
_mmap, _mremap, _munmap = _libc("mmap", 6), _libc("mremap", 4), _libc("munmap", 2, types.int32)
_mkstemp, _unlink, _close = (_libc(name, 1, types.int32) for name in ("mkstemp", "unlink", "close"))
_fallocate, _strdup, _memcpy = _libc("posix_fallocate", 3, types.int32), _libc("strdup", 1), _libc("memcpy", 3)


_CONFIG: Any = numba.config
_NUMBER = ir.IntType(64)


def _reading(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _NUMBER.as_pointer()))

    return types.int64(types.int64), generate


def _writing(typing: Any, address: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _NUMBER.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


_read: Any = intrinsic(_reading)
"""_read(address), in kernels: the number, int64, that is there."""
_write: Any = intrinsic(_writing)
"""_write(address, number), in kernels."""


@kernel
def _n_bytes(array):
    return _read(array - 16)


@kernel
def _capacity(array):
    return _read(array - 8)


@kernel
def _with_header(array, n_bytes, capacity):
    _write(array - 16, n_bytes)
    _write(array - 8, capacity)
    return array


@kernel
def _mapped(template, n_bytes):
    """An array of zeros with a file, or 0; template: the address of the file's path, as for mkstemp."""
    path, begin = _strdup(template), FAILED
    if path == 0:
        return 0
    file = np.int64(_mkstemp(path))
    if file >= 0:
        _unlink(path)
        # Without room on the disk, a write to the array would end the process.
        if _fallocate(file, 0, MAPPED_HEADER + n_bytes) == 0:
            begin = _mmap(0, MAPPED_HEADER + n_bytes, READ_WRITE, SHARED, file, 0)
        # The mapping keeps the file: a process may have few open ones, and many arrays.
        _close(file)
    _free(path)
    return 0 if begin == FAILED else _with_header(begin + MAPPED_HEADER, n_bytes, n_bytes)


@kernel
def _allocate(template, n_bytes):
    array = _mapped(template, n_bytes) if n_bytes >= MIN_MAPPED else 0
    if array == 0:
        begin = _malloc(HEADER + n_bytes)
        array = 0 if begin == 0 else _with_header(begin + HEADER, n_bytes, 0)
    return array


@kernel
def _allocate_zeros(template, count, size):
    n_bytes = count * size
    array = _mapped(template, n_bytes) if n_bytes >= MIN_MAPPED else 0
    if array == 0:
        begin = _calloc(1, HEADER + n_bytes)
        array = 0 if begin == 0 else _with_header(begin + HEADER, n_bytes, 0)
    return array


@kernel
def _deallocate(template, array, n_bytes):
    # NumPy's number of bytes may be another one, after the array's shape or type was changed.
    if array == 0:
        return
    if _capacity(array):
        _munmap(array - MAPPED_HEADER, MAPPED_HEADER + _n_bytes(array))
    else:
        _free(array - HEADER)


@kernel
def _reallocate(template, array, n_bytes):
    if array == 0:
        return _allocate(template, n_bytes)
    before, capacity = _n_bytes(array), _capacity(array)
    if n_bytes <= capacity:
        begin = _mremap(array - MAPPED_HEADER, MAPPED_HEADER + before, MAPPED_HEADER + n_bytes, MAY_MOVE)
        return 0 if begin == FAILED else _with_header(begin + MAPPED_HEADER, n_bytes, capacity)
    if n_bytes < MIN_MAPPED:
        begin = _realloc(array - HEADER, HEADER + n_bytes)
        return 0 if begin == 0 else _with_header(begin + HEADER, n_bytes, 0)
    other = _allocate(template, n_bytes)
    if other != 0:
        _memcpy(other, array, min(before, n_bytes))
        _deallocate(template, array, before)
    return other


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C API."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("template", ctypes.c_char_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


_POINTER = ctypes.c_void_p

_HANDLERS: list[_Handler] = []
"""All handlers of this process: its arrays may need them until it ends."""


def map_large_arrays(folder: Path) -> None:
    """From now on, arrays of MIN_MAPPED bytes or more that this thread makes lie in files of this folder, on Linux.

    Arrays that kernels make, or that the disk has no room for, stay in memory.
    """
    if sys.platform != "linux" or _CONFIG.DISABLE_JIT:
        return
    with_size, with_two = signature(int, int, int), signature(int, int, int, int)
    functions = (
        FirstClassFunction(_allocate, with_size),
        FirstClassFunction(_allocate_zeros, with_two),
        FirstClassFunction(_reallocate, with_two),
        FirstClassFunction(_deallocate, signature(None, int, int, int)),
    )
    addresses = [function.__wrapper_address__() for function in functions]
    handler = _Handler(b"spacy_ssvm_mapped", 1, os.fsencode(folder / "array-XXXXXX"), *addresses)
    _HANDLERS.append(handler)
    _set_handler(handler)


def _set_handler(handler: _Handler) -> None:
    """PyDataMem_SetHandler, which NumPy offers to C alone."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = [ctypes.py_object, ctypes.c_char_p], _POINTER
    api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [_POINTER, ctypes.c_char_p, _POINTER], ctypes.py_object
    # NumPy 1 has it in numpy.core.
    umath = import_module(f"{'numpy._core' if hasattr(np, '_core') else 'numpy.core'}._multiarray_umath")
    table = ctypes.cast(api.PyCapsule_GetPointer(umath._ARRAY_API, None), ctypes.POINTER(_POINTER))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
    set_handler(api.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None))
