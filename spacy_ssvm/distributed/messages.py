"""Messages between a worker that learns and the driver, and the sparse vectors of weights in them."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

MAX_DIMENSION = int(np.iinfo(np.int32).max)
"""The largest dimension whose indices are int32."""


class SparseVector(NamedTuple):
    """The entries of a vector that are not zero: indices int32 [n], each once, and values float64 [n]."""

    indices: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """The size of the message."""
        return int(self.indices.nbytes + self.values.nbytes)

    def digest(self) -> bytes:
        """A digest of the vector, equal for equal ones."""
        digest = hashlib.blake2b(digest_size=32)
        for part in self:
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()

    def times(self, factor: float) -> "SparseVector":
        """The multiple of the vector."""
        return self if factor == 1.0 else SparseVector(self.indices, factor * self.values)

    def add_to(self, vector: np.ndarray, factor: float = 1.0) -> None:
        """vector += factor · this; vector: float64 [d]."""
        # With a dtype that was unpickled, which is no NumPy constant, it takes ten times as long.
        np.add.at(vector, self.indices, self.times(factor).values.view(np.float64))

    def dense(self, dimension: int) -> np.ndarray:
        """The vector, float64 [d]."""
        vector = np.zeros(dimension)
        vector[self.indices] = self.values
        return vector


ZERO = SparseVector(np.zeros(0, np.int32), np.zeros(0))

COMPARED = 1 << 14
"""The number of entries compared at a time: large temporary arrays take longer to allocate than to fill."""


def sparse(vector: np.ndarray) -> SparseVector:
    """The entries of a vector, float64 [d], that are not zero."""
    return difference(vector, np.broadcast_to(0.0, vector.shape))


def difference(after: np.ndarray, before: np.ndarray) -> SparseVector:
    """after − before, float64 [d] both."""
    parts = [slice(first, first + COMPARED) for first in range(0, len(after), COMPARED)]
    size = sum(np.count_nonzero(after[part] != before[part]) for part in parts)
    result, end = SparseVector(np.empty(size, np.int32), np.empty(size)), 0
    for part in parts:
        its_after, its_before = after[part], before[part]
        places = np.flatnonzero(its_after != its_before)
        begin, end = end, end + len(places)
        np.add(places, part.start, out=result.indices[begin:end], casting="unsafe")
        np.subtract(its_after[places], its_before[places], out=result.values[begin:end])
    return result


class Setup(NamedTuple):
    """The inputs, besides examples, to encode a component's examples, the same at all workers.

    Attributes:
        labels: of the component.
        notes: of its codec.
        seed: for all that is learnt before the solver learns.
    """

    labels: list[str]
    notes: dict[str, str]
    seed: int


class Layout(NamedTuple):
    """A block's weights and examples.

    Attributes:
        keys, first, width, counts: as `Rows` of its data set.
        dimension: the number of its weights.
        n_examples: their number.
        is_certified: whether all gold is known, and oracles are exact.
        reads: the annotation that their features read.
        classes: a digest of the word classes that they read.
        warnings: about the examples.
    """

    keys: np.ndarray
    first: int
    width: int
    dimension: int
    counts: np.ndarray
    n_examples: int
    is_certified: bool
    reads: tuple[str, ...]
    classes: bytes
    warnings: list[str]


class BlockEpoch(NamedTuple):
    """The result of an epoch on one block, as its rule has it, and a digest of the vectors in it."""

    moved: Any
    digest: bytes


def block_epoch(moved: Any) -> BlockEpoch:
    """The message with the result of an epoch, a NamedTuple."""
    vectors = vectors_of(moved).values()
    return BlockEpoch(moved, hashlib.sha256(b"".join(vector.digest() for vector in vectors)).digest())


def vectors_of(message: Any) -> dict[str, SparseVector]:
    """The sparse vectors in a NamedTuple, by field."""
    return {name: part for name, part in message._asdict().items() if isinstance(part, SparseVector)}
