"""A rule of distributed learning: a block of examples at each worker, and a driver that combines them.

A rule is one file that has both halves, and an entry in `RULES`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...solvers.certificate import Slacks, slacks
from ...solvers.learner import Certificate, Progress
from ...solvers.problem import Problem
from ...solvers.state import plain
from ..messages import ZERO, BlockEpoch, SparseVector, sparse
from ..shared_blocks import Answers, SharedBlocks


class NoSettings(NamedTuple):
    """The settings of an epoch that has none."""


NO_SETTINGS = NoSettings()


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
        self.vector = ZERO
        """The common vector as far as the block's features read it: w, or the dual point that w belongs to."""

    @property
    def common(self) -> np.ndarray:
        """The common vector, float64 [d], a copy: a block keeps its non-zeros only, which are few."""
        return self.vector.dense(self.problem.dimension)

    def weights(self, point: np.ndarray) -> np.ndarray:
        """The w of a common vector, float64 [d]. It may be the vector itself."""
        return point

    def state(self) -> dict[str, Any]:
        """The state for `restore`, between a step and the next epoch; arrays are not copied."""
        return {"dimension": self.problem.dimension, **self.vector._asdict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another block of the same examples.

        Raises:
            ValueError: this is no such state.
        """
        if state["dimension"] != self.problem.dimension:
            raise ValueError(f"a block's state has {state['dimension']:,} weights, not {self.problem.dimension:,}")
        self.vector = SparseVector(state["indices"], state["values"])

    def common_vector(self) -> SparseVector:
        """The common vector, for messages."""
        return self.vector

    def slacks(self, change: SparseVector) -> Slacks:
        """Σ ξ and Σ ξ² of the examples at the w of the common vector + change."""
        point = self.common
        change.add_to(point)
        return slacks(self.problem, self.weights(point))


class LearningBlock(Block, ABC):
    """A block with a learner of its own, which moves the common vector."""

    alone: ClassVar[Any] = NO_SETTINGS
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
        common = self.common
        change.add_to(common)
        self.vector = sparse(common)


class Driver(ABC):
    """The driver half: how the blocks of one component learn. By default, workers keep no state."""

    def begin(self, number: int) -> None:
        """Tell the workers how the last epoch has ended, and let them begin epoch `number`, as far as they can."""
        return None

    @abstractmethod
    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""

    def step(self) -> None:
        """Let the workers know how the last epoch has ended, without waiting, if they do not yet."""
        return None

    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where there is no certificate."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The state for `restore`, after `epoch`: numbers, arrays, lists and dicts."""

    @abstractmethod
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


class Step(NamedTuple):
    """A step of all blocks: the number of its epoch, its settings, the digest of each block's result, and the step."""

    number: int
    pace: Any
    digests: list[bytes]
    eta: float = 0.0
    change: SparseVector = ZERO
    with_momentum: bool = False


def total(parts: Sequence[SparseVector], size: int) -> SparseVector:
    """The sum of vectors of `size` weights, in their order."""
    added = np.zeros(size)
    for part in parts:
        part.add_to(added)
    return sparse(added)


class _Message(NamedTuple):
    vector: SparseVector


class CommonSteps(Driver):
    """An epoch of each block from the common vector, then one step of all: a driver half.

    Its vectors, float64, have the weights in use only, in the order of all weights; they grow as blocks use more.

    Args:
        pace: the settings of the first epoch, a NamedTuple of numbers.
    """

    VECTORS: ClassVar[tuple[str, ...]] = ("common",)
    """The names of its vectors; blocks keep the first one, and `state` has the others."""

    def __init__(self, parameters: Any, blocks: SharedBlocks, pace: Any = NO_SETTINGS) -> None:
        self.parameters = parameters
        self.blocks = blocks
        self.common = np.zeros(0)
        self._pace = pace
        """Settings of the next epoch."""
        self._step = Step(0, self._pace, [])
        self._is_due = False
        """Whether this step has yet to be sent to the blocks."""
        self._begun: Answers | None = None
        self._stepped: Answers | None = None

    def begin(self, number: int) -> None:
        """Let all blocks take the last epoch's step, and begin epoch `number`, from 0, if they have not yet."""
        if self._begun is None:
            # Of several calls that a dead worker has left, its successor may get the last one first.
            self.wait()
            parts = zip(self._settings(number, self._pace), self._due_steps())
            self._begun = self.blocks.send("epoch", [(*settings, last_step) for settings, last_step in parts])

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""
        self.begin(number)
        assert self._begun is not None
        found: list[BlockEpoch] = self._begun()
        self._begun = None
        step = Step(number, self._pace, [epoch.digest for epoch in found])
        step, progress = self.moved(self.entered([epoch.moved for epoch in found]), step)
        self._step = step._replace(change=self.blocks.of_all(step.change))
        self._is_due = True
        return progress

    def step(self) -> None:
        """Let all blocks take the last epoch's step, without waiting, if it has not been sent yet."""
        if self._is_due:
            self._stepped = self.blocks.send("step", self._due_steps())

    def wait(self) -> None:
        """Wait until all blocks have taken the last step, and have ended an epoch that they have begun since."""
        for answers in (self._begun, self._stepped):
            if answers is not None:
                answers()
        self._stepped = None

    def _due_steps(self) -> list[tuple[Any, ...]]:
        """The arguments of each block's `step`, if the last epoch's is due; from now on it is not."""
        if not self._is_due:
            return [()] * self.blocks.n_blocks
        self._is_due = False
        number, pace, digests, eta, change, with_momentum = self._step
        parts = zip(self._settings(number, pace), digests, self.blocks.parts(change))
        return [(*settings, digest, eta, part, with_momentum) for settings, digest, part in parts]

    def entered(self, messages: Sequence[Any]) -> list[Any]:
        """Messages of the blocks, NamedTuples, with vectors of the weights in use, to which theirs are added."""
        found, places = self.blocks.entered(messages)
        self._grow(places)
        return found

    def _grow(self, places: np.ndarray) -> None:
        """Move the vectors to these places among the weights in use, int64."""
        for name in self.VECTORS:
            vector = np.zeros(len(self.blocks.in_use))
            vector[places] = getattr(self, name)
            setattr(self, name, vector)

    def set_vector(self, name: str, whole: SparseVector) -> None:
        """Set one of the vectors to a vector of all weights."""
        (found,), places = self.blocks.enter([_Message(whole)])
        self._grow(places)
        setattr(self, name, found.vector.dense(len(self.blocks.in_use)))

    @abstractmethod
    def moved(self, found: list[Any], step: Step) -> tuple[Step, Progress]:
        """Move the common vector, given the moves of the blocks.

        Args:
            found: the result of each block, with vectors of the weights in use.

        Returns:
            The step with its length and change, and figures of the epoch.
        """

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]: the common vector by default."""
        return self.blocks.dense(self.common)

    def state(self) -> dict[str, Any]:
        """The state for `restore`, after `epoch`: what blocks may not know yet."""
        parts = {name: plain(getattr(self._step, name)) for name in ("pace", "change")}
        vectors = {name: plain(self.blocks.of_all(sparse(getattr(self, name)))) for name in self.VECTORS[1:]}
        return {"pace": plain(self._pace), "step": plain(self._step) | parts, **vectors}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state, and from where the blocks are once they have taken its step."""
        step, self._pace = state["step"], self._pace._replace(**state["pace"])
        parts = {"pace": self._pace._replace(**step["pace"]), "change": SparseVector(**step["change"])}
        self._step, self._is_due = Step(**{**step, **parts}), True
        self.step()
        self.wait()
        self.set_vector("common", self.blocks.joined(self.blocks.ask("common_vector")))
        for name in self.VECTORS[1:]:
            self.set_vector(name, SparseVector(**state[name]))

    def _settings(self, number: int, pace: Any) -> list[tuple[Any, ...]]:
        """The number, the seed and the settings of each block's epoch, whichever worker runs it."""
        seed = self.parameters.seed or 0
        return [(number, (seed, number, block), pace) for block in range(self.blocks.n_blocks)]
