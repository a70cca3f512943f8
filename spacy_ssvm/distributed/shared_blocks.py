"""The blocks of one component, which lie with workers: how the driver asks them, and reads their vectors.

The weights of all blocks are numbered together; each block has an order of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..features.index import ABSENT
from ..models.frequency import exponents
from .messages import MAX_DIMENSION, Layout, SparseVector, vectors_of


def check_dimension(component: str, dimension: int) -> None:
    """Check that messages can number the weights.

    Raises:
        ValueError: there are too many.
    """
    if dimension > MAX_DIMENSION:
        raise ValueError(
            f"[{component}] has {dimension:,} weights, the number of features times that of labels: several workers "
            f"learn {MAX_DIMENSION:,} at most. Name fewer templates, or use `spacy train`"
        )


class Common(NamedTuple):
    """The weights of all blocks, by row.

    Attributes:
        keys: uint64 [R], of the features of any block, ascending; empty if all blocks have the same weights.
        seen: as `Sharded.of_rows`, of all blocks.
        rows: for each block, the number of each of its rows among these, int64.
        first and width: as in `Rows`.
        dimension: d.
    """

    keys: np.ndarray
    seen: np.ndarray
    rows: list[np.ndarray]
    first: int
    width: int
    dimension: int

    def whole(self, block: int, part: SparseVector) -> SparseVector:
        """A block's vector among all weights; its indices are not in order."""
        if not len(self.keys):
            return part
        return self.moved(part, self.rows[block])

    def part(self, block: int, whole: SparseVector) -> SparseVector:
        """A block's part of a vector of all weights; its indices are not in order."""
        if not len(self.keys):
            return whole
        numbers = np.full(len(self.keys), ABSENT)
        numbers[self.rows[block]] = np.arange(len(self.rows[block]))
        return self.moved(whole, numbers)

    def moved(self, vector: SparseVector, numbers: np.ndarray) -> SparseVector:
        """The vector with other numbers of its rows, int64, without rows that are ABSENT."""
        row, place = np.divmod(vector.indices.astype(np.int64) - self.first, self.width)
        new = numbers[np.maximum(row, 0)]
        indices = np.where(row < 0, vector.indices, self.first + self.width * new + place).astype(np.int32)
        kept = (row < 0) | (new != ABSENT)
        return SparseVector(indices[kept], vector.values[kept])


def common(layouts: Sequence[Layout]) -> Common:
    """The weights of blocks with these layouts: the same for the same features, however they are divided."""
    first, width, dimension = layouts[0].first, layouts[0].width, layouts[0].dimension
    if not len(layouts[0].keys):
        counts = np.sum([layout.counts for layout in layouts], axis=0)
        return Common(layouts[0].keys, exponents(counts, None), [], first, width, dimension)
    keys = np.unique(np.concatenate([layout.keys for layout in layouts]))
    rows = [np.searchsorted(keys, layout.keys) for layout in layouts]
    counts = np.zeros(len(keys), np.int64)
    for its_rows, layout in zip(rows, layouts):
        counts[its_rows] += layout.counts
    return Common(keys, exponents(counts, None), rows, first, width, first + width * len(keys))


Answers = Callable[[], list[Any]]
"""Waits for the results of all workers' methods, in the order of the workers; it may be called again."""

Send = Callable[[str, Sequence[tuple[Any, ...]]], Answers]
"""send(method, arguments of each worker): they call it while the caller goes on. If a worker dies, calls that were sent
without waiting for the one before may come in any order."""


class SharedBlocks:
    """The blocks of a component.

    Args:
        component: its name.
        n_blocks: their number.
        weights: of all blocks.
        n_examples: of all blocks.
        is_certified: as in `Layout`, of all.
        send: calls the workers.
    """

    def __init__(
        self, component: str, n_blocks: int, weights: Common, n_examples: int, is_certified: bool, send: Send
    ) -> None:
        self.component = component
        self.n_blocks = n_blocks
        self.weights = weights
        self.n_examples = n_examples
        self.is_certified = is_certified
        self.has_failed = False
        """Whether a worker has failed, so that no call may follow."""
        self.n_bytes = 0
        """Bytes of the vectors sent, in both directions."""
        self.in_use = np.zeros(0, np.int32)
        """The weights that any block has sent so far, ascending: the driver's vectors have these only."""
        self._send = send

    def send(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Answers:
        """Let each worker call this method. arguments: of each block, after the component."""
        with self._noting_failure():
            answers = self._send(method, [(self.component, *given) for given in arguments])

        def wait() -> list[Any]:
            with self._noting_failure():
                return answers()

        return wait

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.has_failed = True
            raise

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """The results of a method that changes nothing, called on each block. arguments: none by default."""
        given = [()] * self.n_blocks if arguments is None else arguments
        return self.send("ask", [(method, *some) for some in given])()

    def entered(self, messages: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
        """Messages of the blocks, in their order, whose weights are in use from now on.

        Args:
            messages: NamedTuples with sparse vectors.

        Returns:
            The same with vectors of the weights in use, and the new place of each weight that was in use before, int64.
        """
        whole = [
            message._replace(**{name: self.whole(block, part) for name, part in vectors_of(message).items()})
            for block, message in enumerate(messages)
        ]
        return self.enter(whole)

    def enter(self, messages: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
        """`entered` for messages with vectors among all weights."""
        before = self.in_use
        indices = [part.indices for message in messages for part in vectors_of(message).values()]
        self.in_use = np.unique(np.concatenate([before, *indices])).astype(np.int32)

        def placed(part: SparseVector) -> SparseVector:
            return SparseVector(np.searchsorted(self.in_use, part.indices).astype(np.int32), part.values)

        found = [
            message._replace(**{name: placed(part) for name, part in vectors_of(message).items()})
            for message in messages
        ]
        return found, np.searchsorted(self.in_use, before)

    def whole(self, block: int, part: SparseVector) -> SparseVector:
        """A block's vector among all weights."""
        self.n_bytes += part.nbytes
        return self.weights.whole(block, part) if len(part.indices) else part

    def of_all(self, vector: SparseVector) -> SparseVector:
        """A vector of the weights in use, as one of all weights."""
        return SparseVector(self.in_use[vector.indices], vector.values)

    def dense(self, vector: np.ndarray) -> np.ndarray:
        """A vector of the weights in use, float64, among all weights, float64 [d]."""
        found = np.zeros(self.weights.dimension)
        found[self.in_use] = vector
        return found

    def placed(self, block: int, part: SparseVector) -> np.ndarray:
        """A block's vector among all weights, float64 [d]."""
        return self.whole(block, part).dense(self.weights.dimension)

    def joined(self, parts: Sequence[SparseVector]) -> SparseVector:
        """The vector of all weights, joined from the blocks' parts."""
        whole = [self.weights.whole(block, part) for block, part in enumerate(parts)]
        indices, first = np.unique(np.concatenate([part.indices for part in whole]), return_index=True)
        return SparseVector(indices, np.concatenate([part.values for part in whole])[first])

    def parts(self, vector: SparseVector) -> list[SparseVector]:
        """Each block's part of a vector of all weights."""
        parts = [self.weights.part(block, vector) for block in range(self.n_blocks)]
        self.n_bytes += sum(part.nbytes for part in parts)
        return parts
