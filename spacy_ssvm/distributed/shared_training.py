"""The learning of one component from the blocks of several workers, as its `training.Training` would do alone."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc

from ..models.protocol import DataSet
from ..solvers.blocks import best_step
from ..solvers.learner import Certificate
from ..solvers.parameters import Dcd, Parameters
from ..training.figures import Figures
from .block_worker import Layout, Message, Sparse

LOGGER = logging.getLogger("spacy")

Ask = Callable[..., list[Any]]
"""ask(method, arguments of each worker) → the results of all workers' methods, in the order of the workers."""


class Common(NamedTuple):
    """The weights of all blocks, by row.

    keys: uint64 [R], of the features of any block, in the order in which the blocks have them; seen: uint8 [R].
    places: for each block, the number of each of its weights among all, int64. dimension: of w.
    """

    keys: np.ndarray
    seen: np.ndarray
    places: list[np.ndarray]
    dimension: int


def common(layouts: Sequence[Layout]) -> Common:
    """The weights of blocks with these layouts."""
    first, width = layouts[0].first, layouts[0].width
    if not len(layouts[0].keys):
        dimension = layouts[0].dimension
        seen = _sum_of_seen(len(layouts[0].seen), [(slice(None), layout.seen) for layout in layouts])
        return Common(layouts[0].keys, seen, [np.arange(dimension) for _ in layouts], dimension)
    together = np.concatenate([layout.keys for layout in layouts])
    unique, earliest, number = np.unique(together, return_index=True, return_inverse=True)
    order = np.argsort(earliest)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ends = np.cumsum([len(layout.keys) for layout in layouts])[:-1]
    rows = np.split(rank[number], ends)
    seen = _sum_of_seen(len(unique), list(zip(rows, [layout.seen for layout in layouts])))
    start = np.arange(first)
    places = [np.concatenate([start, (first + width * part[:, None] + np.arange(width)).ravel()]) for part in rows]
    return Common(unique[order], seen, places, first + width * len(unique))


def _sum_of_seen(n_rows: int, parts: Sequence[tuple[Any, np.ndarray]]) -> np.ndarray:
    counts = np.zeros(n_rows)
    for rows, seen in parts:
        counts[rows] += np.exp2(seen.astype(np.float64)) - 1.0
    return np.rint(np.log2(1.0 + counts)).astype(np.uint8)


class SharedTraining:
    """A component's training whose examples lie with workers: an update is an epoch of all of them.

    name: of the component. parameters: of the solver. data: without Docs, with the features of all blocks. weights: of
    all blocks. ask: calls the workers.
    """

    gets_parts = False

    def __init__(
        self, name: str, parameters: Parameters, data: DataSet, weights: Common, ask: Ask, n_examples: int
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.data = data
        self.figures: Figures | None = None
        self.epochs = 0
        self.finished = False
        self.sent = 0
        """Bytes of the messages of the last epoch."""
        self.steps: list[float] = []
        """The common step η of each epoch."""
        self._weights = weights
        self._ask = ask
        self._n_examples = n_examples
        self._w = np.zeros(weights.dimension)
        self._means = np.zeros(weights.dimension)
        """The sum of the means of w over each epoch, for averaged solvers."""
        self._linear = self._squares = 0.0
        """Σ αΔ and Σ_i A_i²."""

    def __len__(self) -> int:
        return self._n_examples

    def knows(self, reference: Doc, read: bytes) -> bool:
        """All examples lie with workers."""
        return True

    def update(self, references: Sequence[Doc], read: Sequence[bytes], places: list[int], encoded: Any) -> float:
        """Learn for an epoch; the arguments do not matter. Returns the sum of the losses."""
        if self.finished:
            return 0.0
        given = [(self.name, self.epochs, self._seed(block)) for block in range(self._n_blocks)]
        found: list[Message] = self._ask("epoch", given)
        if isinstance(self.parameters, Dcd):
            primal, dual = self._step_along(found)
        else:
            self._mix(found)
            primal, dual = None, None
        loss = sum(message.moved.loss for message in found)
        planes = sum(message.moved.planes for message in found) if dual is not None else None
        self.epochs += 1
        non_zeros = int(np.count_nonzero(self.weights()))
        self.figures = Figures(self.epochs, loss, primal, dual, planes, None, non_zeros)
        LOGGER.debug("[%s] %s, step %.3g, %s bytes sent", self.name, self.figures, self.steps[-1], f"{self.sent:,}")
        self.finished = self._is_done(primal, dual)
        return loss

    def learn(self) -> float:
        """Nothing: `update` has learnt."""
        return 0.0

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""
        return self._w if isinstance(self.parameters, Dcd) else self._means / max(self.epochs, 1)

    def state(self) -> None:
        """None: workers keep the state of the solver."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w as summed up from all planes; None where the solver has no certificate."""
        if not isinstance(self.parameters, Dcd):
            return None
        C = self.parameters.C
        found = self._ask("dual_sum", [(self.name,)] * self._n_blocks)
        w = np.zeros_like(self._w)
        for block, (part, _) in enumerate(found):
            w[self._weights.places[block][part.indices]] += part.values
        linear, squares = (sum(sums[k] for _, sums in found) for k in range(2))
        slacks = self._ask(
            "slacks", [(self.name, self._for_block(block, w - self._w)) for block in range(self._n_blocks)]
        )
        penalty = float(w @ w) / 2
        return Certificate(
            penalty + C * sum(part.squares for part in slacks), float(linear - penalty - squares / (4.0 * C))
        )

    @property
    def _n_blocks(self) -> int:
        return len(self._weights.places)

    def _seed(self, block: int) -> tuple[int, ...]:
        """Of a block's present epoch, whichever worker runs it."""
        return self.parameters.seed or 0, self.epochs, block

    def _direction(self, parts: Sequence[Sparse]) -> np.ndarray:
        """The sum of the blocks' vectors, in the order of the blocks."""
        together = np.zeros_like(self._w)
        for places, part in zip(self._weights.places, parts):
            together[places[part.indices]] += part.values
        return together

    def _for_block(self, block: int, vector: np.ndarray) -> Sparse:
        of_block = vector[self._weights.places[block]]
        indices = np.flatnonzero(of_block).astype(np.int32)
        return Sparse(indices, of_block[indices])

    def _step(self, eta: float, direction: np.ndarray, found: Sequence[Message]) -> None:
        changes = [self._for_block(block, direction) for block in range(self._n_blocks)]
        given = [(self.name, self.epochs, self._seed(block), eta, change) for block, change in enumerate(changes)]
        self._ask("step", given)
        self._w += eta * direction
        self.steps.append(eta)
        self.sent = sum(change.nbytes for change in changes)
        self.sent += sum(message.direction.nbytes + message.mean.nbytes for message in found)

    def _step_along(self, found: Sequence[Message]) -> tuple[float, float]:
        """Take the best step along the sum of the blocks' directions; the estimate of the primal, and the dual."""
        C, moved = cast(Dcd, self.parameters).C, [message.moved for message in found]
        direction = self._direction([message.direction for message in found])
        linear, products, curvature = (
            sum(getattr(part, name) for part in moved) for name in ("linear", "products", "curvature")
        )
        along, norm = float(self._w @ direction), float(direction @ direction)
        primal = float(self._w @ self._w) / 2 + C * sum(part.squares for part in moved)
        eta = min(best_step(linear, along, products, norm, curvature, C), min(part.max_step for part in moved))
        self._step(eta, direction, found)
        self._linear += eta * linear
        self._squares += 2.0 * eta * products + eta * eta * curvature
        return primal, self._linear - float(self._w @ self._w) / 2 - self._squares / (4.0 * C)

    def _mix(self, found: Sequence[Message]) -> None:
        self._means += self._w + self._direction([message.mean for message in found]) / self._n_blocks
        self._step(1.0, self._direction([message.direction for message in found]) / self._n_blocks, found)

    def _is_done(self, primal: float | None, dual: float | None) -> bool:
        if primal is None or dual is None or primal - dual > cast(Dcd, self.parameters).tolerance * primal:
            return False
        certificate = self.certificate()
        return certificate is not None and certificate.relative_gap <= cast(Dcd, self.parameters).tolerance
