"""Blocks of SGD, whose mean is the next w: iterative parameter mixing (McDonald et al. 2010)."""

from dataclasses import replace
from typing import Any

import numpy as np

from .blocks import EpochResult, EpochSettings, EpochSums, LearningBlock
from .learner import run_epoch, start
from .problem import Problem
from .sgd import Sgd, SgdLearner
from .sparse import SparseVector, difference


class DescentBlock(LearningBlock):
    """SGD on one of K blocks, whose epochs minimise ½‖w‖² + KC Σ L over its examples.

    The mean of these objectives over the blocks is that of all examples, ½‖w‖² + C Σ L, whatever their sizes. The
    learning rate falls with the steps of the block, as fast in all blocks; with it, the mean of w approaches the
    optimum of the mean: in the limit, an epoch of all blocks is one step along its gradient.
    """

    parameters: Sgd

    def __init__(self, parameters: Sgd, problem: Problem) -> None:
        super().__init__(parameters, problem)
        self.eta0 = parameters.eta0 or 0.0
        """The initial learning rate, the same in all blocks; 0 until it is selected."""
        self._steps = 0

    def epoch(self, rng: np.random.Generator, settings: EpochSettings, void: np.ndarray) -> EpochResult:
        # A weight that no feature reads ends as the product of all shrinking.
        learner = self._learner(settings.factor, np.append(self.common, 1.0))
        learner.step = self._steps
        run_epoch(learner, rng)
        w, shrinkage = np.split(learner.prediction_weights(), [-1])
        return EpochResult(
            EpochSums(learner.loss, shrinkage=float(shrinkage[0])),
            direction=difference(w, shrinkage * self.common),
        )

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        super().step(eta, change, with_momentum)
        self._steps += self.problem.n_examples

    def trials(self, factor: float) -> np.ndarray:
        """The primal objectives of `SgdLearner.trials` before the first epoch, float64."""
        return self._learner(factor, self.common).trials(self.parameters.generator())

    def state(self) -> dict[str, Any]:
        return {**super().state(), "eta0": self.eta0, "steps": self._steps}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.eta0, self._steps = state["eta0"], state["steps"]

    def _learner(self, factor: float, weights: np.ndarray) -> SgdLearner:
        parameters = replace(self.parameters, C=factor * self.parameters.C, eta0=self.eta0 or None)
        learner = start(parameters, self.problem, weights)
        assert isinstance(learner, SgdLearner)
        return learner
