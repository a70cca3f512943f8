"""A rule of distributed learning: a block of examples at each worker, and a driver that combines them.

A rule is one file that has both halves, and an entry in `RULES`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ...solvers.certificate import Slacks, slacks
from ...solvers.learner import Certificate, Progress
from ...solvers.problem import Problem
from ...solvers.sparse import SparseVector, sparse


class NoSettings(NamedTuple):
    """The settings of an epoch that has none."""


class BlockParts(NamedTuple):
    """Where a block's examples lie in the corpus.

    Attributes:
        first: the number of the block's first part, from 0, among all `total`.
        examples: int64, of each of its parts.
    """

    first: int
    total: int
    examples: list[np.ndarray]


class Block:
    """The worker half: one block of examples, and the vector that all blocks share.

    The driver may call any method by `SharedBlocks.ask`, if it changes nothing.

    Args:
        problem: of its examples, with the weights in an order of the block's own.
        parts: where these examples lie.
    """

    in_fixed_parts: ClassVar[bool] = False
    """Whether the corpus is dealt out in parts whose number does not depend on the number of workers."""

    def __init__(self, parameters: Any, problem: Problem, parts: BlockParts) -> None:
        self.parameters = parameters
        self.problem = problem
        self.parts = parts
        self.common = np.zeros(problem.dimension)
        """As far as the block's features read it: w, or the dual point that w belongs to."""

    def weights(self, point: np.ndarray) -> np.ndarray:
        """The w of a common vector, float64 [d]. It may be the vector itself."""
        return point

    def state(self) -> dict[str, Any]:
        """The state for `restore`, between a step and the next epoch; arrays are not copied."""
        return {"dimension": len(self.common), **self.common_vector()._asdict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another block of the same examples.

        Raises:
            ValueError: this is no such state.
        """
        if state["dimension"] != len(self.common):
            raise ValueError(f"a block's state has {state['dimension']:,} weights, not {len(self.common):,}")
        self.common = SparseVector(state["indices"], state["values"]).dense(len(self.common))

    def common_vector(self) -> SparseVector:
        """The common vector, for messages."""
        return sparse(self.common)

    def slacks(self, change: SparseVector) -> Slacks:
        """Σ ξ and Σ ξ² of the examples at the w of the common vector + change."""
        point = self.common.copy()
        change.add_to(point)
        return slacks(self.problem, self.weights(point))


class LearningBlock(Block, ABC):
    """A block with a learner of its own, which moves the common vector."""

    alone: ClassVar[Any] = NoSettings()
    """The settings of an epoch without other blocks."""

    @abstractmethod
    def epoch(self, rng: np.random.Generator, settings: Any, void: np.ndarray) -> Any:
        """Run an epoch from the common vector, which does not change.

        Args:
            settings: a NamedTuple of numbers, as the rule's driver half sends it.
            void: examples whose gold has changed, int64; their planes go.

        Returns:
            A NamedTuple of numbers and sparse vectors for the driver half.
        """

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        """Take the common step.

        Args:
            eta: the length of this block's step along its direction.
            change: of the common vector, by all blocks.
            with_momentum: whether it goes on with momentum.
        """
        change.add_to(self.common)


class Driver(Protocol):
    """The driver half: how the blocks of one component learn."""

    def begin(self, number: int) -> None:
        """Tell the workers how the last epoch has ended, and let them begin epoch `number`, as far as they can."""

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""

    def step(self) -> None:
        """Let the workers know how the last epoch has ended, without waiting, if they do not yet."""

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where there is no certificate."""

    def state(self) -> dict[str, Any]:
        """The state for `restore`, after `epoch`: numbers, arrays, lists and dicts."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""


class Rule(NamedTuple):
    """Both halves of a rule.

    Attributes:
        worker: (parameters of the solver, problem, parts) → the block of one worker.
        driver: (parameters, `SharedBlocks`, number of parts of the corpus) → the driver half.
    """

    worker: type[Block]
    driver: Callable[[Any, Any, int], Driver]
