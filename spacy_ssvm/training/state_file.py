"""The file of a component's solver state: numbers and arrays, with a digest, for one model and no other."""

import hashlib
import zlib
from typing import Any

import numpy as np
import srsly

FORMAT = 2
_MAGIC = b"spacy-ssvm solver state\n"
_SHA = hashlib.sha256().digest_size
_LEVEL = 1
"""Of compression: most of the bytes to be saved are zeros, which the fastest level finds."""


def pack(state: dict[str, Any]) -> bytes:
    """Nested dicts and lists of None, numbers, strings and arrays, compressed; the same bytes for the same state."""
    return zlib.compress(srsly.msgpack_dumps(state), _LEVEL)


def unpack(packed: bytes) -> dict[str, Any]:
    """The state that `pack` was given.

    Raises:
        ValueError: it is damaged. Nothing in it is ever executed.
    """
    try:
        state = _writable(srsly.msgpack_loads(zlib.decompress(packed)))
    except Exception as error:
        # Whatever the reader of msgpack makes of garbage.
        raise ValueError(f"its solver state is damaged: {error}") from None
    if not isinstance(state, dict):
        raise ValueError("its solver state is damaged: it holds no settings")
    return state


def sealed(packed: bytes, model: bytes) -> bytes:
    """The contents of the file. model: digest of the weights that are saved with it."""
    contents = model + packed
    return _MAGIC + FORMAT.to_bytes(4, "little") + hashlib.sha256(contents).digest() + contents


def unsealed(contents: bytes, model: bytes) -> bytes:
    """The packed state in a file.

    Raises:
        ValueError: it is damaged, of another version, or belongs to another model.
    """
    start = len(_MAGIC) + 4
    if contents[: len(_MAGIC)] != _MAGIC or len(contents) < start + 2 * _SHA:
        raise ValueError("its solver state is no such file, or is incomplete")
    version = int.from_bytes(contents[len(_MAGIC) : start], "little")
    if version != FORMAT:
        age, remedy = ("a newer", "upgrade spacy-ssvm") if version > FORMAT else ("an older", "train it again")
        raise ValueError(f"its solver state was written by {age} version (format {version}): {remedy}")
    digest, rest = contents[start : start + _SHA], contents[start + _SHA :]
    if hashlib.sha256(rest).digest() != digest:
        raise ValueError("the digest of its solver state does not fit: the file was changed or damaged")
    if rest[:_SHA] != model:
        raise ValueError(
            "its solver state belongs to other weights: the files were not saved together. Without the file of the "
            "state it loads, and learns on from its weights alone"
        )
    return rest[_SHA:]


def _writable(value: Any) -> Any:
    """The same with arrays that can be written to, in which no truth value is a byte but 0 and 1."""
    if isinstance(value, dict):
        return {key: _writable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_writable(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.view(np.uint8) != 0 if value.dtype == np.bool_ else value.copy()
    return value
