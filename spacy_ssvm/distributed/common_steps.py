"""Epochs of all blocks from a common vector, then one common step: by a line search on the dual, or to the mean."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..solvers.blocks import Moved, expected_factor
from ..solvers.dual_step import dual_objective
from ..solvers.learner import Certificate, Progress, plain
from ..solvers.parameters import DualParameters, Parameters
from ..solvers.sgd import best_rate
from ..solvers.sparse import NOTHING, Sparse, difference, sparse
from ..solvers.vectors import squared_distance
from .shared_blocks import Answers, SharedBlocks

SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step of dual variables."""


class Step(NamedTuple):
    """What blocks need to take a step: the number of its epoch, digests of what each has moved in it, and the step."""

    number: int
    digests: list[bytes]
    eta: float
    direction: Sparse
    removed: Sparse


class CommonSteps(ABC):
    """An epoch of each block from the common vector, float64 [d], then one step of all: removed + η · direction."""

    def __init__(self, parameters: Any, blocks: SharedBlocks) -> None:
        self.parameters = parameters
        self.blocks = blocks
        self.common = np.zeros(blocks.weights.dimension)
        self._step = Step(0, [], 0.0, NOTHING, NOTHING)
        self._begun: Answers | None = None
        self._stepped: Answers | None = None

    def begin(self, number: int) -> None:
        """Let all blocks begin epoch `number`, from 0, if they have not yet."""
        if self._begun is None:
            # Of several calls that a dead worker has left, its successor may get the last one first.
            self.wait()
            self._begun = self.blocks.send("epoch", self._settings(number))

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step` has to follow."""
        self.begin(number)
        assert self._begun is not None
        found: list[Moved] = self._begun()
        self._begun = None
        removed = self.blocks.sum([message.removed for message in found])
        direction = self._direction(found)
        removed.add_to(self.common)
        eta, progress = self._move_along(found, direction)
        self._step = Step(number, [message.digest() for message in found], eta, direction, removed)
        return progress

    def step(self) -> None:
        """Let all blocks take the step of the last epoch, without waiting; those that have taken it do nothing."""
        number, digests, eta, direction, removed = self._step
        parts = zip(self._settings(number), digests, self.blocks.parts(removed), self.blocks.parts(direction))
        arguments = [(*settings, digest, eta, *vectors) for settings, digest, *vectors in parts]
        self._stepped = self.blocks.send("step", arguments)

    def wait(self) -> None:
        """Wait until all blocks have taken the last step."""
        if self._stepped is not None:
            self._stepped()
            self._stepped = None

    def _direction(self, found: list[Moved]) -> Sparse:
        """Where the blocks have moved the common vector, summed up."""
        return self.blocks.sum([message.direction for message in found])

    @abstractmethod
    def _move_along(self, found: list[Moved], direction: Sparse) -> tuple[float, Progress]:
        """Move the common vector along the direction, given what the blocks have moved; η, and figures of the epoch."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where the rule has no certificate."""
        return None

    def state(self) -> dict[str, Any]:
        """What `restore` takes, after `epoch`."""
        step = self._step._replace(direction=plain(self._step.direction), removed=plain(self._step.removed))
        return {"common": plain(sparse(self.common)), "step": plain(step)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; `step` has to follow."""
        self.common = Sparse(**state["common"]).dense(len(self.common))
        vectors = {name: Sparse(**state["step"][name]) for name in ("direction", "removed")}
        self._step = Step(**{**state["step"], **vectors})

    def _settings(self, number: int) -> list[tuple[Any, ...]]:
        """Of each block's epoch, whichever worker runs it: its number, its seed, and its factor."""
        factor = self._factor()
        return [(number, (self.parameters.seed or 0, number, block), factor) for block in range(self.blocks.n_blocks)]

    def _factor(self) -> float:
        """As in `LearningBlock.epoch`."""
        return expected_factor(self.blocks.n_blocks)


class DualSteps(CommonSteps):
    """α ← α + ηΔα with the best η, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015)."""

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._objective = dual_objective(parameters)

    def _move_along(self, found: list[Moved], direction: Sparse) -> tuple[float, Progress]:
        parts = [message.sums for message in found]
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        primal = self._objective.primal(self.weights(), sums["loss"], sums["squares"])
        along = sums["linear"], sums["products"], sums["curvature"]
        eta = self._objective.best_step(self.common, direction, *along, min(part.max_step for part in parts))
        direction.add_to(self.common, eta)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * sums["products"] + eta * eta * sums["curvature"]
        dual = self._objective.dual(self.weights(), linear, squares)
        return eta, Progress(sums["loss"], primal, dual, sum(part.planes for part in parts))

    def weights(self) -> np.ndarray:
        return self._objective.penalty.weights(self.common)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, gold is incomplete, or an epoch has begun.
        """
        if not self.blocks.is_certified or self._begun is not None:
            return None
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
    """The mean of all blocks' w: iterative parameter mixing (McDonald, Hall & Mann 2010)."""

    def _move_along(self, found: list[Moved], direction: Sparse) -> tuple[float, Progress]:
        share = 1.0 / self.blocks.n_blocks
        direction.add_to(self.common, share)
        return share, Progress(math.fsum(message.sums.loss for message in found), None, None, None)

    def weights(self) -> np.ndarray:
        return self.common


class AveragedMixing(Mixing):
    """For averaged solvers: w is the mean over all epochs, too."""

    def __init__(self, parameters: Parameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._means = np.zeros_like(self.common)
        """The sum of the means of w over each epoch."""
        self._epochs = 0

    def _move_along(self, found: list[Moved], direction: Sparse) -> tuple[float, Progress]:
        self._means += self.common
        self.blocks.sum([message.mean for message in found]).add_to(self._means, 1.0 / self.blocks.n_blocks)
        self._epochs += 1
        return super()._move_along(found, direction)

    def weights(self) -> np.ndarray:
        return self._means / max(self._epochs, 1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "means": plain(sparse(self._means)), "epochs": self._epochs}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._means, self._epochs = Sparse(**state["means"]).dense(len(self.common)), state["epochs"]


class DescentMixing(Mixing):
    """For SGD: blocks shrink w, and agree on the initial learning rate, the best one in the sum of their trials."""

    def begin(self, number: int) -> None:
        if number == 0 and self._begun is None and self.parameters.eta0 is None:
            n_blocks = self.blocks.n_blocks
            trials = self.blocks.all("trials", [(self._factor(),)] * n_blocks)
            rate = best_rate(np.sum(trials, axis=0), self.parameters, self.blocks.n_examples)
            self.blocks.all("set_rate", [(rate,)] * n_blocks)
        super().begin(number)

    def _factor(self) -> float:
        # In the mean over the blocks, each example counts once then.
        return float(self.blocks.n_blocks)

    def _direction(self, found: list[Moved]) -> Sparse:
        # Blocks shrink the weights of features that they do not have, too.
        shrinking = math.fsum(message.sums.shrinkage - 1.0 for message in found)
        total = shrinking * self.common
        super()._direction(found).add_to(total)
        return sparse(total)

    def _move_along(self, found: list[Moved], direction: Sparse) -> tuple[float, Progress]:
        share, progress = super()._move_along(found, direction)
        primal = squared_distance(self.common) / 2 + self.parameters.C * progress.loss
        return share, progress._replace(primal=primal)
