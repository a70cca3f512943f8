"""Steps to the mean of all blocks' w: iterative parameter mixing (McDonald, Hall & Mann 2010)."""

import math
from typing import Any

import numpy as np

from ..solvers.blocks import EpochResult, EpochSettings
from ..solvers.learner import Progress
from ..solvers.parameters import Parameters
from ..solvers.sgd import best_rate
from ..solvers.sparse import SparseVector, sparse
from ..solvers.state import plain
from ..solvers.vectors import squared_distance
from .common_steps import CommonSteps, Step
from .shared_blocks import SharedBlocks


class Mixing(CommonSteps):
    """The next w is the mean of all blocks' w."""

    def moved(self, found: list[EpochResult], step: Step) -> tuple[Step, Progress]:
        share = 1.0 / self.blocks.n_blocks
        step = step._replace(eta=share, change=self.direction(found).times(share))
        step.change.add_to(self.common)
        return step, Progress(math.fsum(message.sums.loss for message in found), None, None, None)

    def direction(self, found: list[EpochResult]) -> SparseVector:
        """Where the blocks have moved w, summed up."""
        return self.blocks.sum([message.direction for message in found])

    def weights(self) -> np.ndarray:
        return self.common


class AveragedMixing(Mixing):
    """For averaged solvers: w is the mean over all epochs, too."""

    def __init__(self, parameters: Parameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._means = np.zeros_like(self.common)
        """The sum of the means of w over each epoch."""
        self._epochs = 0

    def moved(self, found: list[EpochResult], step: Step) -> tuple[Step, Progress]:
        self._means += self.common
        self.blocks.sum([message.mean for message in found]).add_to(self._means, 1.0 / self.blocks.n_blocks)
        self._epochs += 1
        return super().moved(found, step)

    def weights(self) -> np.ndarray:
        return self._means / max(self._epochs, 1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "means": plain(sparse(self._means)), "epochs": self._epochs}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._means, self._epochs = SparseVector(**state["means"]).dense(len(self.common)), state["epochs"]


class DescentMixing(Mixing):
    """Mixing for SGD: blocks shrink w, and share the initial learning rate that is best in the sum of their trials."""

    def __init__(self, parameters: Parameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        # In the mean over the blocks, each example counts once then.
        self._pace = EpochSettings(blocks.n_blocks)

    def begin(self, number: int) -> None:
        if number == 0 and self._begun is None and self.parameters.eta0 is None:
            n_blocks = self.blocks.n_blocks
            trials = self.blocks.all("trials", [(self._pace.factor,)] * n_blocks)
            rate = best_rate(np.sum(trials, axis=0), self.parameters, self.blocks.n_examples)
            self.blocks.all("set_rate", [(rate,)] * n_blocks)
        super().begin(number)

    def direction(self, found: list[EpochResult]) -> SparseVector:
        # Blocks shrink the weights of features that they do not have, too.
        shrinking = math.fsum(message.sums.shrinkage - 1.0 for message in found)
        total = shrinking * self.common
        super().direction(found).add_to(total)
        return sparse(total)

    def moved(self, found: list[EpochResult], step: Step) -> tuple[Step, Progress]:
        step, progress = super().moved(found, step)
        primal = squared_distance(self.common) / 2 + self.parameters.C * progress.loss
        return step, progress._replace(primal=primal)
