"""Lists of numbers in a model file, as compressed planes of bytes."""

import zlib

import numpy as np

_MAX_BYTES = 1 << 30


def compressed(numbers: np.ndarray) -> bytes:
    """Compress uint32 numbers: the lowest bytes of all of them come first, then the second-lowest bytes, and so on."""
    return zlib.compress(np.ascontiguousarray(numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T).tobytes(), 9)


def decompressed(stored: bytes) -> np.ndarray:
    """The numbers, uint32, that `compressed` was given.

    Raises:
        ValueError, TypeError, zlib.error: it has not made these bytes.
    """
    reader = zlib.decompressobj()
    planes = np.frombuffer(reader.decompress(stored, _MAX_BYTES), np.uint8)
    if not reader.eof or reader.unused_data:
        raise ValueError("too long")
    return np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").ravel().astype(np.uint32)


def compressed_ascending(numbers: np.ndarray) -> bytes:
    """Ascending distinct numbers below 2³²; the differences are stored."""
    return compressed(np.diff(numbers.astype(np.uint64), prepend=np.uint64(0)).astype(np.uint32))


def decompressed_ascending(stored: bytes) -> np.ndarray:
    """The numbers, uint64, that `compressed_ascending` was given. Raises the same errors as `decompressed`."""
    differences = decompressed(stored).astype(np.uint64)
    numbers = np.cumsum(differences, dtype=np.uint64)
    if (differences[1:] == 0).any() or (len(numbers) and numbers[-1] >> np.uint64(32)):
        raise ValueError("numbers do not ascend")
    return numbers
