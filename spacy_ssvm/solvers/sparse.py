"""Sparse vectors of weights, as they travel between blocks."""

import hashlib
from typing import NamedTuple

import numpy as np


class Sparse(NamedTuple):
    """What is not zero of a vector: indices int32 [n], each once, and values float64 [n]."""

    indices: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """The size of the message."""
        return int(self.indices.nbytes + self.values.nbytes)

    def digest(self) -> bytes:
        """The same for the same vector."""
        digest = hashlib.blake2b(digest_size=32)
        for part in self:
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()

    def times(self, factor: float) -> "Sparse":
        """The multiple of the vector."""
        return self if factor == 1.0 else Sparse(self.indices, factor * self.values)

    def add_to(self, vector: np.ndarray, factor: float = 1.0) -> None:
        """vector += factor · this; vector: float64 [d]."""
        # Faster than `vector[indices] += …`, which reads the places twice.
        np.add.at(vector, self.indices, self.times(factor).values)

    def dense(self, dimension: int) -> np.ndarray:
        """The vector, float64 [d]."""
        vector = np.zeros(dimension)
        vector[self.indices] = self.values
        return vector


NOTHING = Sparse(np.zeros(0, np.int32), np.zeros(0))


def sparse(vector: np.ndarray) -> Sparse:
    """What is not zero of a vector, float64 [d]."""
    # Several times as fast as for the numbers themselves.
    indices = np.flatnonzero(vector != 0.0).astype(np.int32)
    return Sparse(indices, vector[indices])


def difference(after: np.ndarray, before: np.ndarray) -> Sparse:
    """after − before, float64 [d] both."""
    indices = np.flatnonzero(after != before).astype(np.int32)
    return Sparse(indices, after[indices] - before[indices])
