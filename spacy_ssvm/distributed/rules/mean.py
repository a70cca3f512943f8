"""Steps to the mean of all blocks' w: iterative parameter mixing (McDonald, Hall & Mann 2010)."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...solvers.learner import Progress, run_epoch, start
from ...solvers.parameters import Parameters
from ...solvers.sgd import Sgd, SgdLearner, best_rate
from ...solvers.vectors import squared_distance
from ..messages import SparseVector, difference, sparse
from ..shared_blocks import SharedBlocks
from .rule import CommonSteps, LearningBlock, NoSettings, Step, total


class MixedEpoch(NamedTuple):
    """The result of an epoch on one block.

    Attributes:
        loss: summed over the visits.
        direction: how far it has moved w.
        mean: how far the mean of w over the epoch is from the initial w.
    """

    loss: float
    direction: SparseVector
    mean: SparseVector


class MixedBlock(LearningBlock):
    """An averaged online solver on one block, which begins anew in each epoch."""

    def epoch(self, rng: np.random.Generator, settings: NoSettings, void: np.ndarray) -> MixedEpoch:
        common = self.common
        learner = start(self.parameters, self.problem, common)
        run_epoch(learner, rng)
        mean = difference(learner.prediction_weights(), common)
        return MixedEpoch(learner.loss, difference(learner.w, common), mean)


class Mixing(CommonSteps):
    """The next w is the mean of all blocks' w."""

    def moved(self, found: list[Any], step: Step) -> tuple[Step, Progress]:
        share = 1.0 / self.blocks.n_blocks
        step = step._replace(eta=share, change=self.direction(found).times(share))
        step.change.add_to(self.common)
        return step, Progress(math.fsum(message.loss for message in found), None, None, None)

    def direction(self, found: list[Any]) -> SparseVector:
        """Where the blocks have moved w, summed up."""
        return total([message.direction for message in found], len(self.common))


class AveragedMixing(Mixing):
    """For averaged solvers: w is the mean over all epochs, too."""

    VECTORS = "common", "means"

    def __init__(self, parameters: Parameters, blocks: SharedBlocks, n_parts: int) -> None:
        super().__init__(parameters, blocks)
        self.means = np.zeros(0)
        """The sum of the means of w over each epoch."""
        self._epochs = 0

    def moved(self, found: list[MixedEpoch], step: Step) -> tuple[Step, Progress]:
        self.means += self.common
        mean = total([message.mean for message in found], len(self.means))
        mean.add_to(self.means, 1.0 / self.blocks.n_blocks)
        self._epochs += 1
        return super().moved(found, step)

    def weights(self) -> np.ndarray:
        return self.blocks.dense(self.means / max(self._epochs, 1))

    def state(self) -> dict[str, Any]:
        return {**super().state(), "epochs": self._epochs}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._epochs = state["epochs"]


class DescentSettings(NamedTuple):
    """The settings of an epoch on one block.

    Attributes:
        factor: what C is multiplied by.
        eta0: the initial learning rate, the same in all blocks; 0: as the solver's parameters say.
    """

    factor: float = 1.0
    eta0: float = 0.0


class DescentEpoch(NamedTuple):
    """The result of an epoch on one block.

    Attributes:
        loss: summed over the visits.
        shrinkage: the factor by which the epoch has multiplied w, besides adding to it.
        direction: the vector that it has added.
    """

    loss: float
    shrinkage: float
    direction: SparseVector


class DescentBlock(LearningBlock):
    """SGD on one of K blocks, whose epochs minimise ½‖w‖² + KC Σ L over its examples.

    The mean of these objectives over the blocks is ½‖w‖² + C Σ L over all examples, whatever the blocks' sizes. The
    learning rate falls with the steps of the block, as fast in all blocks; with it, the mean of w approaches the
    optimum of the mean: in the limit, an epoch of all blocks is one step along its gradient.
    """

    parameters: Sgd
    alone = DescentSettings()
    _steps = 0

    def epoch(self, rng: np.random.Generator, settings: DescentSettings, void: np.ndarray) -> DescentEpoch:
        # A weight that no feature reads ends as the product of all shrinking.
        learner = self._learner(settings, np.append(self.common, 1.0))
        learner.step = self._steps
        run_epoch(learner, rng)
        w, shrinkage = np.split(learner.prediction_weights(), [-1])
        return DescentEpoch(learner.loss, float(shrinkage[0]), difference(w, shrinkage * self.common))

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        super().step(eta, change, with_momentum)
        self._steps += self.problem.n_examples

    def trials(self, factor: float) -> np.ndarray:
        """The primal objectives of `SgdLearner.trials` before the first epoch, float64."""
        return self._learner(DescentSettings(factor), self.common).trials(self.parameters.generator())

    def state(self) -> dict[str, Any]:
        return {**super().state(), "steps": self._steps}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._steps = state["steps"]

    def _learner(self, settings: DescentSettings, weights: np.ndarray) -> SgdLearner:
        given = self.parameters
        parameters = replace(given, C=settings.factor * given.C, eta0=settings.eta0 or given.eta0)
        learner = start(parameters, self.problem, weights)
        assert isinstance(learner, SgdLearner)
        return learner


class DescentMixing(Mixing):
    """Mixing for SGD: blocks shrink w, and share the initial learning rate that is best in the sum of their trials."""

    def __init__(self, parameters: Sgd, blocks: SharedBlocks, n_parts: int) -> None:
        # In the mean over the blocks, each example counts once then.
        super().__init__(parameters, blocks, DescentSettings(blocks.n_blocks, parameters.eta0 or 0.0))

    def begin(self, number: int) -> None:
        if not self._pace.eta0:
            trials = self.blocks.ask("trials", [(self._pace.factor,)] * self.blocks.n_blocks)
            rate = best_rate(np.sum(trials, axis=0), self.parameters, self.blocks.n_examples)
            self._pace = self._pace._replace(eta0=rate)
        super().begin(number)

    def direction(self, found: list[DescentEpoch]) -> SparseVector:
        # Blocks shrink the weights of features that they do not have, too.
        shrinking = math.fsum(message.shrinkage - 1.0 for message in found)
        total = shrinking * self.common
        super().direction(found).add_to(total)
        return sparse(total)

    def moved(self, found: list[DescentEpoch], step: Step) -> tuple[Step, Progress]:
        step, progress = super().moved(found, step)
        primal = squared_distance(self.common) / 2 + self.parameters.C * progress.loss
        return step, progress._replace(primal=primal)
