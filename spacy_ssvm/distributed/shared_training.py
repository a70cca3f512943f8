"""The learning of one component from the blocks of several workers, as its `training.Training` would do alone."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..models import frequency
from ..models.protocol import DataSet
from ..solvers.blocks import best_step, expected_factor
from ..solvers.certificate import GAP_ROUNDING
from ..solvers.learner import Certificate
from ..solvers.parameters import Dcd, Parameters
from ..training.figures import Figures
from .block_worker import Layout, Message, Sparse, sparse

LOGGER = logging.getLogger("spacy")

Ask = Callable[..., list[Any]]
"""ask(method, arguments of each worker) → the results of all workers' methods, in the order of the workers."""

NOTHING = Sparse(np.zeros(0, np.int32), np.zeros(0))

DUAL = ("squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step of dual variables."""


class Common(NamedTuple):
    """The weights of all blocks, by row.

    keys: uint64 [R], of the features of any block, in the order in which the blocks have them; seen: uint8 [R].
    rows: for each block, the number of each of its rows among these, int64. first, width: as in `Rows`. dimension: d.
    """

    keys: np.ndarray
    seen: np.ndarray
    rows: list[np.ndarray]
    first: int
    width: int
    dimension: int

    def places(self, block: int, indices: np.ndarray) -> np.ndarray:
        """The numbers among all weights of a block's weights with these numbers, int64."""
        if not len(self.keys):
            return indices
        row, place = np.divmod(indices.astype(np.int64) - self.first, self.width)
        of_rows = self.first + self.width * self.rows[block][np.maximum(row, 0)] + place
        return np.where(row < 0, indices, of_rows)

    def part(self, block: int, vector: np.ndarray) -> np.ndarray:
        """A block's weights of a vector, float64 [d]."""
        if not len(self.keys):
            return vector
        rows = vector[self.first :].reshape(-1, self.width)[self.rows[block]]
        return np.concatenate([vector[: self.first], rows.ravel()])


def common(layouts: Sequence[Layout]) -> Common:
    """The weights of blocks with these layouts."""
    first, width = layouts[0].first, layouts[0].width
    if not len(layouts[0].keys):
        seen = _sum_of_seen(len(layouts[0].seen), [(slice(None), layout.seen) for layout in layouts])
        return Common(layouts[0].keys, seen, [layout.keys for layout in layouts], first, width, layouts[0].dimension)
    together = np.concatenate([layout.keys for layout in layouts])
    unique, earliest, number = np.unique(together, return_index=True, return_inverse=True)
    order = np.argsort(earliest)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rows = np.split(rank[number], np.cumsum([len(layout.keys) for layout in layouts])[:-1])
    seen = _sum_of_seen(len(unique), list(zip(rows, [layout.seen for layout in layouts])))
    return Common(unique[order], seen, rows, first, width, first + width * len(unique))


def _sum_of_seen(n_rows: int, parts: Sequence[tuple[Any, np.ndarray]]) -> np.ndarray:
    counts = np.zeros(n_rows)
    for rows, seen in parts:
        counts[rows] += np.exp2(seen.astype(np.float64)) - 1.0
    return frequency.exponents(counts, None)


class SharedTraining:
    """A component's training whose examples lie with workers: an update is an epoch of all of them.

    name: of the component. parameters: of the solver. data: without Docs, with the features of all blocks. weights: of
    all blocks. n_examples: of all blocks. is_certified: as in `Layout`, of all. ask: calls the workers.
    """

    gets_parts = False

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        data: DataSet,
        weights: Common,
        n_examples: int,
        is_certified: bool,
        ask: Ask,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.data = data
        self.figures: Figures | None = None
        self.epochs = 0
        self.finished = False
        self._weights = weights
        self._n_examples = n_examples
        self._is_certified = is_certified
        self._ask = ask
        self._has_failed = False
        """Whether a worker has failed, so that none is to be asked again."""
        self._w = np.zeros(weights.dimension)
        self._means = np.zeros(weights.dimension)
        """The sum of the means of w over each epoch, for averaged solvers."""

    def __len__(self) -> int:
        return self._n_examples

    def knows(self, reference: Doc, read: bytes) -> bool:
        """All examples lie with workers."""
        return True

    def update(self, references: Sequence[Doc], read: Sequence[bytes], places: list[int], encoded: Any) -> float:
        """Learn for an epoch; the arguments do not matter. Returns the sum of the losses."""
        if self.finished:
            return 0.0
        found: list[Message] = self._all("epoch", [self._epoch(block) for block in self._blocks])
        figures = [message.figures for message in found]
        if isinstance(self.parameters, Dcd):
            primal, dual = self._step_along(self.parameters.C, found)
        else:
            self._mix(found)
            primal, dual = None, None
        self.epochs += 1
        loss = sum(part.loss for part in figures)
        planes = None if dual is None else sum(part.planes for part in figures)
        self.figures = Figures(self.epochs, loss, primal, dual, planes, None, int(np.count_nonzero(self.weights())))
        LOGGER.debug("[%s] %s", self.name, self.figures)
        self.finished = self._is_done(primal, dual)
        if self.finished:
            LOGGER.warning("[%s] the solver has reached its tolerance: further updates change nothing", self.name)
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
        """Primal and dual at w as summed up from all planes.

        None where the solver has no certificate, decoding is not exact, gold is incomplete, or a worker has failed.
        """
        if not isinstance(self.parameters, Dcd) or not self._is_certified or self._has_failed:
            return None
        C = self.parameters.C
        found = self._all("dual_sum", [(self.epochs,)] * len(self._blocks))
        w = self._sum([part for part, _ in found])
        linear, squares = (math.fsum(sums[k] for _, sums in found) for k in range(2))
        change = w - self._w
        slacks = self._all("slacks", [(self.epochs, self._for_block(block, change)) for block in self._blocks])
        penalty = float(w @ w) / 2
        primal = penalty + C * math.fsum(part.squares for part in slacks)
        return Certificate(primal, linear - penalty - squares / (4.0 * C))

    @property
    def _blocks(self) -> range:
        return range(len(self._weights.rows))

    def _all(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What this method of each worker returns."""
        try:
            return self._ask(method, [(self.name, *given) for given in arguments])
        except Exception:
            self._has_failed = True
            raise

    def _epoch(self, block: int) -> tuple[Any, ...]:
        """A block's present epoch, whichever worker runs it: its number, its seed, and its factor."""
        return self.epochs, (self.parameters.seed or 0, self.epochs, block), expected_factor(len(self._blocks))

    def _sum(self, parts: Sequence[Sparse]) -> np.ndarray:
        """The sum of the blocks' vectors, in the order of the blocks, float64 [d]."""
        together = np.zeros_like(self._w)
        for block, part in enumerate(parts):
            together[self._weights.places(block, part.indices)] += part.values
        return together

    def _for_block(self, block: int, vector: np.ndarray | None) -> Sparse:
        """What a block reads of a vector, float64 [d], or of None, which is zero."""
        return NOTHING if vector is None else sparse(self._weights.part(block, vector))

    def _step(
        self, eta: float, direction: np.ndarray, found: Sequence[Message], removed: np.ndarray | None = None
    ) -> None:
        given, sent = [], 0
        for block, message in enumerate(found):
            changes = self._for_block(block, removed), self._for_block(block, direction)
            given.append((*self._epoch(block), message.digest(), eta, *changes))
            sent += message.nbytes + sum(change.nbytes for change in changes)
        self._all("step", given)
        if removed is not None:
            self._w += removed
        self._w += eta * direction
        LOGGER.debug("[%s] step %.3g, %s bytes sent", self.name, eta, f"{sent:,}")

    def _step_along(self, C: float, found: Sequence[Message]) -> tuple[float, float]:
        """Take the best step along the sum of the blocks' directions; the estimate of the primal, and the dual."""
        figures = [message.figures for message in found]
        sums = {name: math.fsum(getattr(part, name) for part in figures) for name in DUAL}
        direction, removed = self._sum([message.direction for message in found]), None
        w = self._w
        if any(len(message.removed.indices) for message in found):
            removed = self._sum([message.removed for message in found])
            w = w + removed
        primal = float(w @ w) / 2 + C * sums["squares"]
        linear, products, curvature = sums["linear"], sums["products"], sums["curvature"]
        eta = best_step(linear, float(w @ direction), products, float(direction @ direction), curvature, C)
        eta = min(eta, *(part.max_step for part in figures))
        self._step(eta, direction, found, removed)
        squares = sums["squares_before"] + 2.0 * eta * products + eta * eta * curvature
        penalty = float(self._w @ self._w) / 2
        return primal, sums["linear_before"] + eta * linear - penalty - squares / (4.0 * C)

    def _mix(self, found: Sequence[Message]) -> None:
        n_blocks = len(self._blocks)
        self._means += self._w + self._sum([message.mean for message in found]) / n_blocks
        self._step(1.0, self._sum([message.direction for message in found]) / n_blocks, found)

    def _is_done(self, primal: float | None, dual: float | None) -> bool:
        """As `CertifiedLearner.done`."""
        tolerance = getattr(self.parameters, "tolerance", 0.0)
        if primal is None or dual is None or not tolerance or primal - dual > tolerance * primal:
            return False
        certificate = self.certificate()
        return certificate is not None and -GAP_ROUNDING <= certificate.relative_gap <= tolerance
