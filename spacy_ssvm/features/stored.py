"""What a model file keeps of gazetteers and clusters: checked before a kernel or a reader sees it."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def check_gazetteers(stored: Mapping[str, Any]) -> None:
    """Refuse what would lead a kernel out of bounds, or round in circles.

    stored: name → keys uint64 [n], rows int32 [n] and counts int64 [2] of a table, n a power of two.

    Raises:
        ValueError: a table is none that `read_gazetteer` makes.
    """
    for name, arrays in stored.items():
        tables = [array for array in arrays if isinstance(array, np.ndarray)]
        slots = len(tables[0]) if tables and tables[0].ndim else 0
        kinds = [(array.dtype, array.shape) for array in tables]
        expected = [(np.dtype(np.uint64), (slots,)), (np.dtype(np.int32), (slots,)), (np.dtype(np.int64), (2,))]
        if (
            len(arrays) != 3
            or kinds != expected
            or slots & (slots - 1)
            or not (tables[0] == 0).any()
            or tables[2][1] != 0
        ):
            raise ValueError(f'the model file has a damaged gazetteer "{name}"')


def check_clusters(stored: Mapping[str, Any]) -> None:
    """Refuse anything but words uint64 [n] and their n names, or nothing at all.

    Raises:
        ValueError: it is not what `load_clusters` makes.
    """
    if stored == {}:
        return
    words, names = stored["words"], stored["names"]
    if (
        not isinstance(words, np.ndarray)
        or words.dtype != np.uint64
        or words.shape != (len(names),)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError("the model file has damaged clusters")
