"""Messages between a worker that learns and the driver."""

from typing import NamedTuple

import numpy as np

from ..solvers.blocks import EpochResult
from ..solvers.sparse import SparseVector
from ..solvers.sum_block import Range


class Setup(NamedTuple):
    """With what the examples of a component are encoded, the same at all workers.

    labels: of the component. notes: of its codec. seed: of what is learnt before the solver learns.
    """

    labels: list[str]
    notes: dict[str, str]
    seed: int


class Layout(NamedTuple):
    """A block's weights and examples.

    keys, first, width, counts: as `Rows` of its data set. dimension: the number of its weights.
    n_examples: their number. is_certified: whether all gold is known, and oracles are exact. reads: the annotation that
    their features read. classes: a digest of the word classes that they read. warnings: what was wrong with them.
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
    """The result of an epoch on one block, and its digest, the same for the same vectors."""

    moved: EpochResult
    digest: bytes


class SubtreeSum(NamedTuple):
    """The sum of a subtree of parts; see `solvers.sum_block`."""

    parts: Range
    values: np.ndarray
    vector: SparseVector
