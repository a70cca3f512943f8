"""Epochs of all blocks from a common vector, then one common step: by a line search on the dual, or to the mean.

Steps of dual variables have momentum (Nesterov 1983), which begins anew when the dual objective falls (O'Donoghue &
Candès 2015).
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..solvers.blocks import Moved, Pace, kind_of_block
from ..solvers.dual_block import DualBlock
from ..solvers.dual_step import dual_objective
from ..solvers.learner import Certificate, Progress, plain
from ..solvers.parameters import DualParameters, Parameters
from ..solvers.sparse import NOTHING, Sparse, difference, sparse
from .shared_blocks import Answers, SharedBlocks

SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step of dual variables."""


class Step(NamedTuple):
    """What blocks need to take a step: the number of its epoch, its momentum, digests of what each has moved in it, and
    the step."""

    number: int
    momentum: float
    digests: list[bytes]
    eta: float
    direction: Sparse
    corrected: Sparse


class CommonSteps(ABC):
    """An epoch of each block from the common vector, float64 [d], then one step of all: corrected + η · direction."""

    factor: float
    """How many times as far as one block, all are expected to move the common vector."""

    def __init__(self, parameters: Any, blocks: SharedBlocks) -> None:
        self.parameters = parameters
        self.blocks = blocks
        self.common = np.zeros(blocks.weights.dimension)
        self._momentum = 0.0
        """Of the next epoch."""
        self._step = Step(0, 0.0, [], 0.0, NOTHING, NOTHING)
        self._is_due = False
        """Whether blocks have not been told this step yet."""
        self._begun: Answers | None = None
        self._stepped: Answers | None = None

    def begin(self, number: int) -> None:
        """Let all blocks take the step of the last epoch, and begin epoch `number`, from 0, if they have not yet."""
        if self._begun is None:
            # Of several calls that a dead worker has left, its successor may get the last one first.
            self.wait()
            parts = zip(self._settings(number, self._momentum), self._due_steps())
            self._begun = self.blocks.send("epoch", [(*settings, last_step) for settings, last_step in parts])

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step`, or `begin` of the next one, has to follow."""
        self.begin(number)
        assert self._begun is not None
        found: list[Moved] = self._begun()
        self._begun = None
        corrected = self.blocks.sum([message.corrected for message in found])
        direction = self.blocks.sum([message.direction for message in found])
        momentum, digests = self._momentum, [message.digest() for message in found]
        eta, progress = self._move_along(found, corrected, direction)
        self._step, self._is_due = Step(number, momentum, digests, eta, direction, corrected), True
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
        number, momentum, digests, eta, *vectors = self._step
        parts = zip(self._settings(number, momentum), digests, *(self.blocks.parts(vector) for vector in vectors))
        return [(*settings, digest, eta, *its_parts) for settings, digest, *its_parts in parts]

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
        """What `restore` takes, after `epoch`."""
        step = self._step._replace(direction=plain(self._step.direction), corrected=plain(self._step.corrected))
        return {"common": plain(sparse(self.common)), "step": plain(step)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; `step`, or `begin`, has to follow."""
        self.common = Sparse(**state["common"]).dense(len(self.common))
        vectors = {name: Sparse(**state["step"][name]) for name in ("direction", "corrected")}
        self._step, self._is_due = Step(**{**state["step"], **vectors}), True

    def _settings(self, number: int, momentum: float) -> list[tuple[Any, ...]]:
        """Of each block's epoch, whichever worker runs it: its number, its seed, and its pace."""
        seed, pace = self.parameters.seed or 0, Pace(self.factor, momentum)
        return [(number, (seed, number, block), pace) for block in range(self.blocks.n_blocks)]


class DualSteps(CommonSteps):
    """α ← α + ηΔα with the best η, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015).

    With momentum, the factor is K, the number of blocks: with the safe bound of CoCoA+ (Ma et al. 2015) no step lowers
    the dual objective. Without, it is the mean of 1, where other blocks do nothing, and K, where they do the same.
    """

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._objective = dual_objective(parameters)
        kind = kind_of_block(parameters)
        assert issubclass(kind, DualBlock)
        self._has_momentum = kind.has_momentum and blocks.n_blocks > 1
        self.factor = float(blocks.n_blocks) if self._has_momentum else (1.0 + blocks.n_blocks) / 2.0
        self._dual = -np.inf
        """The dual objective after the last epoch."""
        self._time = 1.0
        """Nesterov's t, from which momentum follows."""
        self._move = NOTHING
        """How far the last step has moved the common vector."""

    def _move_along(self, found: list[Moved], corrected: Sparse, direction: Sparse) -> tuple[float, Progress]:
        before = self.common.copy()
        self._move.add_to(self.common, self._momentum)
        corrected.add_to(self.common)
        parts = [message.sums for message in found]
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        primal = self._objective.primal(self.weights(), sums["loss"], sums["squares"])
        along = sums["linear"], sums["products"], sums["curvature"]
        eta = self._objective.best_step(self.common, direction, *along, min(part.max_step for part in parts))
        direction.add_to(self.common, eta)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * sums["products"] + eta * eta * sums["curvature"]
        dual = self._objective.dual(self.weights(), linear, squares)
        self._move = difference(self.common, before)
        self._gain_momentum(dual, any(part.n_void for part in parts))
        return eta, Progress(sums["loss"], primal, dual, sum(part.planes for part in parts))

    def _gain_momentum(self, dual: float, has_new_problem: bool) -> None:
        """Set the momentum of the next epoch, given the dual objective after this one."""
        if self._has_momentum:
            time = 1.0 if dual < self._dual or has_new_problem else self._time
            self._time = (1.0 + math.sqrt(1.0 + 4.0 * time * time)) / 2.0
            self._momentum = (time - 1.0) / self._time
        self._dual = dual

    def state(self) -> dict[str, Any]:
        momentum = {"momentum": self._momentum, "time": self._time, "dual": self._dual, "move": plain(self._move)}
        return {**super().state(), **momentum}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._momentum, self._time, self._dual = (state[name] for name in ("momentum", "time", "dual"))
        self._move = Sparse(**state["move"])

    def weights(self) -> np.ndarray:
        return self._objective.penalty.weights(self.common)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, or gold is incomplete. Blocks that have begun an epoch end it first.
        """
        if not self.blocks.is_certified:
            return None
        self.step()
        self.wait()
        found = self.blocks.all("dual_sum")
        point = self.blocks.sum([part for part, _ in found]).dense(len(self.common))
        linear, squares = (math.fsum(sums[k] for _, sums in found) for k in range(2))
        change = difference(point, self.common)
        slacks = self.blocks.all("slacks", [(part,) for part in self.blocks.parts(change)])
        w = self._objective.penalty.weights(point)
        totals = [math.fsum(part[k] for part in slacks) for k in range(2)]
        return Certificate(self._objective.primal(w, *totals), self._objective.dual(w, linear, squares))


class Mixing(CommonSteps):
    """The mean of all blocks' w: iterative parameter mixing, for averaged solvers (McDonald, Hall & Mann 2010)."""

    factor = 1.0

    def __init__(self, parameters: Parameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._means = np.zeros_like(self.common)
        """The sum of the means of w over each epoch."""
        self._epochs = 0

    def _move_along(self, found: list[Moved], corrected: Sparse, direction: Sparse) -> tuple[float, Progress]:
        share = 1.0 / self.blocks.n_blocks
        self._means += self.common
        self.blocks.sum([message.mean for message in found]).add_to(self._means, share)
        self._epochs += 1
        direction.add_to(self.common, share)
        return share, Progress(math.fsum(message.sums.loss for message in found), None, None, None)

    def weights(self) -> np.ndarray:
        return self._means / max(self._epochs, 1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "means": plain(sparse(self._means)), "epochs": self._epochs}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._means, self._epochs = Sparse(**state["means"]).dense(len(self.common)), state["epochs"]
