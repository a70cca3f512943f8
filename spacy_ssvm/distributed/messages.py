"""Messages between a worker that learns and the driver."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from ..solvers.sparse import SparseVector


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
