"""The file of a component's solver state: numbers and arrays, with a digest, bound to the weights of one model."""

import hashlib
import math
import struct
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import srsly

from ..solvers.parameters import Parameters

FORMAT = 3
_MAGIC = b"spacy-ssvm solver state\n"
_SHA = hashlib.sha256().digest_size
_FASTEST = 1
"""The level of compression, which is enough for the zeros that most of the bytes are."""
_ARRAY = "\0array"
"""The key, which no state has, of an array's type and shape in place of the array."""
_BEGIN = struct.Struct("<IQ")
"""The head of a file of parts: the checksum of the rest, and the number of bytes before the arrays."""


def pack(state: dict[str, Any]) -> bytes:
    """Compress nested dicts and lists of None, numbers, strings and arrays; the same state gives the same bytes."""
    return zlib.compress(srsly.msgpack_dumps(state), _FASTEST)


def unpack(packed: bytes) -> dict[str, Any]:
    """The state that `pack` has compressed; nothing in it is executed.

    Raises:
        ValueError: the state is damaged.
    """
    try:
        state = _writable(srsly.msgpack_loads(zlib.decompress(packed)))
    except Exception as error:
        # The msgpack reader raises errors of many types for garbage.
        raise ValueError(f"its solver state is damaged: {error}") from None
    if not isinstance(state, dict):
        raise ValueError("its solver state is damaged: it holds no settings")
    return state


def parts(state: dict[str, Any]) -> list[bytes | memoryview]:
    """The contents of a file for `read`, in parts: of a state as for `pack`, whose arrays are not copied."""
    arrays: list[np.ndarray] = []

    def without_arrays(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_arrays(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [without_arrays(part) for part in value]
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value))
            return {_ARRAY: [value.dtype.str, *value.shape]}
        return value

    rest = [srsly.msgpack_dumps(without_arrays(state))]
    rest += [array.reshape(-1).view(np.uint8).data for array in arrays]
    checksum = 0
    for part in rest:
        checksum = zlib.crc32(part, checksum)
    return [_BEGIN.pack(checksum, len(rest[0])), *rest]


def read(path: Path) -> dict[str, Any]:
    """The state in a file of `parts`; nothing in it is executed, and no array is copied.

    Raises:
        OSError: the file cannot be read.
        ValueError: the state is damaged.
    """
    with path.open("rb") as file:
        try:
            expected, size = _BEGIN.unpack(file.read(_BEGIN.size))
            n_bytes = path.stat().st_size

            def at_most(n: int) -> int:
                if n > n_bytes:
                    raise EOFError("it is incomplete")
                return n

            plain = file.read(at_most(size))
            checksum = zlib.crc32(plain)

            def with_arrays(value: Any) -> Any:
                nonlocal checksum
                if isinstance(value, list):
                    return [with_arrays(part) for part in value]
                if not isinstance(value, dict):
                    return value
                if _ARRAY not in value:
                    return {key: with_arrays(part) for key, part in value.items()}
                dtype, *shape = value[_ARRAY]
                at_most(math.prod(shape) * np.dtype(dtype).itemsize)
                array = np.empty(shape, dtype)
                content = array.reshape(-1).view(np.uint8).data
                if file.readinto(content) < len(content):
                    raise EOFError("it is incomplete")
                checksum = zlib.crc32(content, checksum)
                return array

            state: dict[str, Any] = with_arrays(srsly.msgpack_loads(plain))
        except (MemoryError, OSError):
            raise
        except Exception as error:
            # Garbage raises errors of many types.
            raise ValueError(f"{path} is damaged: {error}") from None
    if checksum != expected:
        raise ValueError(f"{path} is damaged: its checksum does not fit")
    return state


def sealed(packed: bytes, model: bytes) -> bytes:
    """The contents of the file; model: the digest of the weights that are saved with it."""
    contents = model + packed
    return _MAGIC + FORMAT.to_bytes(4, "little") + hashlib.sha256(contents).digest() + contents


def unsealed(contents: bytes, model: bytes) -> bytes:
    """The packed state in the contents of a file; model: the digest of the weights that are loaded with it.

    Raises:
        ValueError: the file is damaged, of another version, or belongs to other weights.
    """
    start = len(_MAGIC) + 4
    if contents[: len(_MAGIC)] != _MAGIC or len(contents) < start + 2 * _SHA:
        raise ValueError("its solver state is no such file, or is incomplete")
    version = int.from_bytes(contents[len(_MAGIC) : start], "little")
    if version != FORMAT:
        age, remedy = "a newer", "upgrade spacy-ssvm, or"
        if version < FORMAT:
            age, remedy = "an older", "use the version that wrote it, or"
        raise ValueError(
            f"its solver state was written by {age} version (format {version}): {remedy} remove the file of the state "
            "to load the component and resume training from its weights alone"
        )
    digest, rest = contents[start : start + _SHA], contents[start + _SHA :]
    if hashlib.sha256(rest).digest() != digest:
        raise ValueError("the digest of its solver state does not fit: the file was changed or damaged")
    if rest[:_SHA] != model:
        raise ValueError(
            "its solver state belongs to other weights: the files were not saved together. Remove the file of "
            "the state to load the component and resume training from its weights alone"
        )
    return rest[_SHA:]


def saved_solver(parameters: Parameters) -> dict[str, Any]:
    """A solver as the state names it: the class of its parameters as "name", and all parameters."""
    return {"name": type(parameters).__name__, **asdict(parameters)}


def resumed_solver(saved: Any, parameters: Parameters) -> Parameters | None:
    """The parameters, with the saved seed if they have none; None if other parameters, or another solver, were saved.

    Args:
        saved: a result of `saved_solver`, or anything in a damaged file.
    """
    parameters = parameters.seeded(saved.get("seed", 0) if isinstance(saved, dict) else 0)
    return parameters if saved == saved_solver(parameters) else None


def solver_text(saved: Any) -> str:
    """A saved solver for messages, such as "Dcd(seed=0, C=0.1)"."""
    if not isinstance(saved, dict):
        return str(saved)
    parameters = ", ".join(f"{name}={value!r}" for name, value in saved.items() if name != "name")
    return f"{saved.get('name')}({parameters})"


def _writable(value: Any) -> Any:
    """A copy of a value with writable arrays, in which each byte of a Boolean is 0 or 1."""
    if isinstance(value, dict):
        return {key: _writable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_writable(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.view(np.uint8) != 0 if value.dtype == np.bool_ else value.copy()
    return value
