"""Epochs of all blocks from a common vector, then one common step."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..solvers.blocks import Moved, Pace
from ..solvers.learner import Certificate, Progress, plain
from ..solvers.sparse import NOTHING, Sparse
from .shared_blocks import Answers, SharedBlocks


class Step(NamedTuple):
    """What blocks need to take a step: the number of its epoch, its pace, digests of what each has moved in it, and the
    step."""

    number: int
    pace: Pace
    digests: list[bytes]
    eta: float
    direction: Sparse
    corrected: Sparse


class CommonSteps(ABC):
    """An epoch of each block from the common vector, float64 [d], then one step of all: corrected + η · direction."""

    def __init__(self, parameters: Any, blocks: SharedBlocks) -> None:
        self.parameters = parameters
        self.blocks = blocks
        self.common = np.zeros(blocks.weights.dimension)
        self._pace = Pace()
        """Of the next epoch."""
        self._step = Step(0, self._pace, [], 0.0, NOTHING, NOTHING)
        self._is_due = False
        """Whether blocks have not been told this step yet."""
        self._begun: Answers | None = None
        self._stepped: Answers | None = None

    def begin(self, number: int) -> None:
        """Let all blocks take the step of the last epoch, and begin epoch `number`, from 0, if they have not yet."""
        if self._begun is None:
            # Of several calls that a dead worker has left, its successor may get the last one first.
            self.wait()
            parts = zip(self._settings(number, self._pace), self._due_steps())
            self._begun = self.blocks.send("epoch", [(*settings, last_step) for settings, last_step in parts])

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""
        self.begin(number)
        assert self._begun is not None
        found: list[Moved] = self._begun()
        self._begun = None
        corrected = self.blocks.sum([message.corrected for message in found])
        direction = self._direction(found)
        pace, digests = self._pace, [message.digest() for message in found]
        eta, progress = self._move_along(found, corrected, direction)
        self._step, self._is_due = Step(number, pace, digests, eta, direction, corrected), True
        return progress

    def step(self) -> None:
        """Let all blocks take the step of the last epoch, without waiting, if they have not been told yet."""
        if self._is_due:
            self._stepped = self.blocks.send("step", self._due_steps())

    def wait(self) -> None:
        """Wait until all blocks have taken the last step, with the epoch that they have begun since or alone."""
        for answers in (self._begun, self._stepped):
            if answers is not None:
                answers()
        self._stepped = None

    def _due_steps(self) -> list[tuple[Any, ...]]:
        """The arguments of each block's `step`, if that of the last epoch is due; from now on it is not."""
        if not self._is_due:
            return [()] * self.blocks.n_blocks
        self._is_due = False
        number, pace, digests, eta, *vectors = self._step
        parts = zip(self._settings(number, pace), digests, *(self.blocks.parts(vector) for vector in vectors))
        return [(*settings, digest, eta, *its_parts) for settings, digest, *its_parts in parts]

    def _direction(self, found: list[Moved]) -> Sparse:
        """Where the blocks have moved the common vector, summed up."""
        return self.blocks.sum([message.direction for message in found])

    @abstractmethod
    def _move_along(self, found: list[Moved], corrected: Sparse, direction: Sparse) -> tuple[float, Progress]:
        """Move the common vector, given what the blocks have moved, and the sums; η, and figures of the epoch."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where the rule has no certificate."""
        return None

    def state(self) -> dict[str, Any]:
        """What `restore` takes, after `epoch`: what blocks may not know yet."""
        parts = {name: plain(getattr(self._step, name)) for name in ("pace", "direction", "corrected")}
        return {"pace": plain(self._pace), "step": plain(self._step) | parts}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state, and from where the blocks are once they have taken its step."""
        step, self._pace = state["step"], Pace(**state["pace"])
        vectors = {name: Sparse(**step[name]) for name in ("direction", "corrected")}
        self._step, self._is_due = Step(**{**step, **vectors, "pace": Pace(**step["pace"])}), True
        self.step()
        self.wait()
        self._place(self.blocks.all("vectors"))

    def _place(self, vectors: list[tuple[Sparse, ...]]) -> None:
        """Take over the blocks' vectors, as `LearningBlock.vectors`."""
        self.common = self.blocks.joined([common for common, *_ in vectors])

    def _settings(self, number: int, pace: Pace) -> list[tuple[Any, ...]]:
        """Of each block's epoch, whichever worker runs it: its number, its seed, and its pace."""
        seed = self.parameters.seed or 0
        return [(number, (seed, number, block), pace) for block in range(self.blocks.n_blocks)]
