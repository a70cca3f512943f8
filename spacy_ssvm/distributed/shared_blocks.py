"""The blocks of one component, which lie with workers: how the driver asks them, and reads their vectors."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..solvers.sparse import SparseVector, sparse
from .common_weights import Common

Answers = Callable[[], list[Any]]
"""Waits for the results of all workers' methods, in the order of the workers; it may be called again."""

Send = Callable[[str, Sequence[tuple[Any, ...]]], Answers]
"""send(method, arguments of each worker): they call it while the caller goes on. If a worker dies, calls that were sent
without waiting for the one before may come in any order."""


class SharedBlocks:
    """The blocks of a component.

    component: its name. n_blocks: their number. weights: of all blocks. n_examples: of all blocks. is_certified: as in
    `Layout`, of all. send: calls the workers.
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
        """Whether a worker has failed, so that none is to be asked again."""
        self.n_bytes = 0
        """Bytes of the vectors sent, in both directions."""
        self._send = send
        self._sum = np.zeros(weights.dimension)
        """Zeros, to add up in."""

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
        """The results of this method of each block, which changes nothing there. arguments: none by default."""
        given = [()] * self.n_blocks if arguments is None else arguments
        return self.send("ask", [(method, *some) for some in given])()

    def sum(self, parts: Sequence[SparseVector]) -> SparseVector:
        """The sum of the blocks' vectors, in the order of the blocks."""
        self.add(parts, self._sum)
        total = sparse(self._sum)
        self._sum[total.indices] = 0.0
        return total

    def add(self, parts: Sequence[SparseVector], vector: np.ndarray) -> None:
        """Add the blocks' vectors to one of all weights, float64 [d], in the order of the blocks."""
        for block, part in enumerate(parts):
            if len(part.indices):
                self.weights.whole(block, part).add_to(vector)
            self.n_bytes += part.nbytes

    def placed(self, block: int, part: SparseVector) -> np.ndarray:
        """A block's vector among all weights, float64 [d]."""
        self.n_bytes += part.nbytes
        return self.weights.whole(block, part).dense(self.weights.dimension)

    def joined(self, parts: Sequence[SparseVector]) -> np.ndarray:
        """The vector of all weights, float64 [d], of which each block has its part."""
        vector = np.zeros(self.weights.dimension)
        for block, part in enumerate(parts):
            whole = self.weights.whole(block, part)
            vector[whole.indices] = whole.values
        return vector

    def parts(self, vector: SparseVector) -> list[SparseVector]:
        """Each block's part of a vector of all weights."""
        parts = [self.weights.part(block, vector) for block in range(self.n_blocks)]
        self.n_bytes += sum(part.nbytes for part in parts)
        return parts
