"""What the features of a model are called, in its file: only where that was asked for, as it costs room."""

import zlib
from collections.abc import Sequence

import numpy as np
import srsly

from .model import DamagedModel, require

MAX_NAME = 200
"""Characters of a name that are kept."""


def pack_names(names: Sequence[str]) -> np.ndarray:
    """One name for each row of weights as bytes, uint8."""
    return np.frombuffer(zlib.compress(srsly.msgpack_dumps([name[:MAX_NAME] for name in names])), np.uint8)


def unpack_names(packed: object, n_rows: int) -> tuple[str, ...]:
    """What `pack_names` has packed.

    Raises:
        DamagedModel: the bytes are damaged, or there are not as many names as rows.
    """
    complaint = "the names of its features are damaged"
    if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8 or packed.ndim != 1:
        raise DamagedModel(complaint)
    inflate = zlib.decompressobj()
    # In UTF-8 a character is at most four bytes, and before each string there are at most five.
    max_bytes = n_rows * (4 * MAX_NAME + 5) + 5
    try:
        names = srsly.msgpack_loads(inflate.decompress(packed.tobytes(), max_bytes + 1))
    except Exception as error:
        # Whatever the reader of msgpack makes of garbage.
        raise DamagedModel(f"{complaint}: {error}") from None
    whole = inflate.eof and not inflate.unused_data
    require(whole and isinstance(names, list) and all(isinstance(name, str) for name in names), complaint)
    require(len(names) == n_rows, "its features and their names are not as many")
    return tuple(names)
