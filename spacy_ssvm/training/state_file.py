"""The file of a component's solver state: numbers and arrays, with a digest, of one model and no other."""

import hashlib
import json
import zlib
from math import prod
from typing import Any

import numpy as np

FORMAT = 2

_MAGIC = b"spacy-ssvm solver state\n"

_SHA = hashlib.sha256().digest_size

_TYPES = ("|b1", "|u1", "<i4", "<i8", "<u8", "<f4", "<f8")

_ARRAY = {"type", "shape", "bytes"}

_LEVEL = 1
"""Of compression: most of what can be saved are zeros, which the fastest level finds."""


def pack(state: dict[str, Any]) -> bytes:
    """Nested dicts and lists of None, numbers, strings and arrays, compressed; the same bytes for the same state."""
    arrays: list[bytes] = []

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, list):
            return [plain(part) for part in value]
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value).tobytes())
            return {"type": value.dtype.str, "shape": list(value.shape), "bytes": len(arrays[-1])}
        return value

    described = json.dumps(plain(state)).encode()
    compressor = zlib.compressobj(_LEVEL)
    parts = [len(described).to_bytes(8, "little"), described, *arrays]
    return b"".join([*map(compressor.compress, parts), compressor.flush()])


def unpack(packed: bytes) -> dict[str, Any]:
    """The state that `pack` was given.

    Raises:
        ValueError: it is damaged. Nothing in it is ever executed.
    """
    try:
        contents = memoryview(zlib.decompress(packed))
        at = 8 + int.from_bytes(contents[:8], "little")
        described = json.loads(bytes(contents[8:at]))
    except (zlib.error, ValueError) as error:
        raise ValueError(f"its solver state is damaged: {error}") from None

    def whole(value: Any) -> Any:
        nonlocal at
        if isinstance(value, list):
            return [whole(part) for part in value]
        if not isinstance(value, dict):
            return value
        if set(value) != _ARRAY:
            return {key: whole(part) for key, part in value.items()}
        kind, shape, size = value["type"], value["shape"], value["bytes"]
        known = kind in _TYPES and isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if not known or size != prod(shape) * np.dtype(kind).itemsize or at + size > len(contents):
            raise ValueError("its solver state is damaged: an array is of a wrong type or shape")
        array = np.frombuffer(contents[at : at + size], "|u1" if kind == "|b1" else kind).reshape(shape)
        at += size
        return array != 0 if kind == "|b1" else array.copy()

    state = whole(described)
    if not isinstance(state, dict) or at != len(contents):
        raise ValueError("its solver state is damaged: it does not hold what it says")
    return state


def sealed(packed: bytes, model: bytes) -> bytes:
    """What the file holds. model: digest of the weights that were saved with it."""
    end = model + packed
    return _MAGIC + FORMAT.to_bytes(4, "little") + hashlib.sha256(end).digest() + end


def unsealed(contents: bytes, model: bytes) -> bytes:
    """The packed state in a file.

    Raises:
        ValueError: it is damaged, of a newer version, or belongs to another model.
    """
    start = len(_MAGIC) + 4
    if contents[: len(_MAGIC)] != _MAGIC or len(contents) < start + 2 * _SHA:
        raise ValueError("its solver state is no such file, or is incomplete")
    version = int.from_bytes(contents[len(_MAGIC) : start], "little")
    if version > FORMAT:
        raise ValueError(f"its solver state was written by a newer version (format {version}): upgrade spacy-ssvm")
    digest, end = contents[start : start + _SHA], contents[start + _SHA :]
    if hashlib.sha256(end).digest() != digest:
        raise ValueError("the digest of its solver state does not fit: the file was changed or damaged")
    if end[:_SHA] != model:
        raise ValueError(
            "its solver state belongs to other weights: the files were not saved together. Without the file of the "
            "state it loads, and learns on from its weights alone"
        )
    return end[_SHA:]
