"""Learning from blocks of examples that share w, for workers that have one block each.

There are blocks of dual variables with common steps (`dual_block`), of an online solver whose weights are mixed
(`mixed_block`, `descent_block`), and of sums for a solver that is elsewhere (`sum_block`).
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from .certificate import Slacks, slacks
from .problem import Problem
from .sparse import ZERO, SparseVector, sparse


class EpochSums(NamedTuple):
    """Sums over a block's examples, of an epoch.

    loss, squares: Σ ξ and Σ ξ² of the visits. linear_before, squares_before: Σ αΔ and Σ_i A_i², A_i = Σ_y α_i(y),
    before the epoch, without planes that are void. linear: Σ Δα Δ. products: Σ_i A_i ΔA_i. curvature: Σ_i ΔA_i².
    max_step: the largest η for which α + ηΔα is feasible, at least 1. planes: the number of planes in the working sets.
    shrinkage: what the epoch has multiplied w by, besides adding to it.
    """

    loss: float
    squares: float = 0.0
    linear_before: float = 0.0
    squares_before: float = 0.0
    linear: float = 0.0
    products: float = 0.0
    curvature: float = 0.0
    max_step: float = np.inf
    planes: int = 0
    shrinkage: float = 1.0


class EpochSettings(NamedTuple):
    """The settings of an epoch on one block, which allow for the other blocks.

    factor: what C is multiplied by. momentum: β, how far beyond the end of the epoch momentum goes, in parts of the way
    from the end of the last one.
    """

    factor: float = 1.0
    momentum: float = 0.0


class EpochResult(NamedTuple):
    """The result of an epoch on one block: how far it has moved the common vector.

    removed: what it loses with the planes that are void. direction: how far it has moved otherwise, without what
    `EpochSums.shrinkage` does to it. ahead: how far momentum goes beyond. mean: how far its mean over the epoch is from
    where it was, of averaged solvers.
    """

    sums: EpochSums
    removed: SparseVector = ZERO
    direction: SparseVector = ZERO
    ahead: SparseVector = ZERO
    mean: SparseVector = ZERO

    def digest(self) -> bytes:
        """A digest of the vectors, equal for equal ones."""
        return hashlib.sha256(b"".join(vector.digest() for vector in self[1:])).digest()


class Block:
    """One block of examples, and the vector that all blocks share.

    problem: of its examples, with the weights in an order of the block's own.
    """

    def __init__(self, parameters: Any, problem: Problem) -> None:
        self.parameters = parameters
        self.problem = problem
        self.common = np.zeros(problem.dimension)
        """As far as the block's features read it: w, or the dual point that w belongs to."""

    def weights(self, point: np.ndarray) -> np.ndarray:
        """The w of a common vector, float64 [d]. It may be the vector itself."""
        return point

    def state(self) -> dict[str, Any]:
        """The state for `restore`, between a step and the next epoch; arrays are not copied."""
        return {"dimension": len(self.common), **sparse(self.common)._asdict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another block of the same examples.

        Raises:
            ValueError: this is no such state.
        """
        if state["dimension"] != len(self.common):
            raise ValueError(f"a block's state has {state['dimension']:,} weights, not {len(self.common):,}")
        self.common = SparseVector(state["indices"], state["values"]).dense(len(self.common))

    def slacks(self, change: SparseVector) -> Slacks:
        """Σ ξ and Σ ξ² of the examples at the w of the common vector + change."""
        point = self.common.copy()
        change.add_to(point)
        return slacks(self.problem, self.weights(point))


class LearningBlock(Block, ABC):
    """A block with a learner of its own, which moves the common vector."""

    @abstractmethod
    def epoch(self, rng: np.random.Generator, settings: EpochSettings, void: np.ndarray) -> EpochResult:
        """Run an epoch from the common vector, which stays as it is.

        void: examples whose gold has changed, int64; their planes go.
        """

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        """Take the common step.

        eta: the length of this block's step along its direction. change: of the common vector, by all blocks.
        with_momentum: whether it goes on with momentum.
        """
        change.add_to(self.common)
