"""Solvers that need sums over all examples at one w: they learn on the driver, and workers add up."""

from typing import Any

import numpy as np

from ..solvers.certificate import Slacks
from ..solvers.learner import Certificate, Progress, start
from ..solvers.parameters import Parameters
from ..solvers.problem import Passes, Problem
from ..solvers.sparse import sparse
from ..solvers.sum_block import PassSum, tree_sum
from .messages import SubtreeSum
from .shared_blocks import SharedBlocks


class SharedPasses(Passes):
    """Passes over the examples of all blocks, as `Problem.data`."""

    def __init__(self, blocks: SharedBlocks, n_parts: int) -> None:
        self._blocks = blocks
        self._n_parts = n_parts
        self._latest: tuple[np.ndarray, PassSum] | None = None
        """The last w, and the sums at it: a solver that begins an epoch asks again for those that it has ended with."""

    def losses(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._sum(weights)
        return float(found.values[0]), found.vector.copy()

    def planes(self, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
        found = self._sum(weights)
        return float(found.values[0]), float(found.values[1]), found.vector.copy()

    def slacks(self, weights: np.ndarray) -> Slacks:
        found: list[Slacks] = self._blocks.all("slacks", [(part,) for part in self._blocks.parts(sparse(weights))])
        return Slacks(*(sum(part[k] for part in found) for k in range(2)))

    def _sum(self, weights: np.ndarray) -> PassSum:
        if self._latest is None or not np.array_equal(self._latest[0], weights):
            found: list[list[SubtreeSum]] = self._blocks.all(
                "sums", [(part,) for part in self._blocks.parts(sparse(weights))]
            )
            known = {
                part.parts: PassSum(part.values.copy(), self._blocks.placed(block, part.vector))
                for block, parts in enumerate(found)
                for part in parts
            }
            self._latest = weights.copy(), tree_sum((0, self._n_parts), known.get, PassSum.plus)
        return self._latest[1]


class Sums:
    """A solver whose passes over all examples are made by workers. n_parts: of the corpus."""

    def __init__(self, parameters: Parameters, blocks: SharedBlocks, n_parts: int) -> None:
        self.blocks = blocks
        self._learner = start(parameters, _problem(blocks, SharedPasses(blocks, n_parts)))
        self._rng = parameters.generator()

    def begin(self, number: int) -> None:
        """Nothing: what workers add up depends on what they have added up before."""

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of the solver."""
        learner = self._learner
        learner.begin_epoch(self._rng)
        learner.visit(np.arange(self.blocks.n_examples))
        learner.end_epoch()
        return learner.progress()

    def step(self) -> None:
        """Nothing: workers keep no state."""

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""
        return self._learner.prediction_weights()

    def certificate(self) -> Certificate | None:
        """The certificate of the solver; None where decoding is not exact, or gold is incomplete."""
        return self._learner.certificate() if self.blocks.is_certified else None

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        return self._learner.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self._learner.restore(state, self._rng)


def _problem(blocks: SharedBlocks, passes: SharedPasses) -> Problem:
    """All examples, whose oracles nobody calls here."""
    n = blocks.n_examples
    return Problem(
        data=passes,
        max_oracle=None,
        n_examples=n,
        dimension=blocks.weights.dimension,
        plane_entries=np.zeros(n, np.int64),
        exact=blocks.is_certified,
    )
