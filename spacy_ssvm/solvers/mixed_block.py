"""Blocks of averaged online solvers, whose mean is the next w: iterative parameter mixing (McDonald et al. 2010)."""

import numpy as np

from .blocks import EpochResult, EpochSettings, EpochSums, LearningBlock
from .learner import run_epoch, start
from .sparse import difference


class MixedBlock(LearningBlock):
    """An averaged online solver on one block, which begins anew in each epoch."""

    def epoch(self, rng: np.random.Generator, settings: EpochSettings, void: np.ndarray) -> EpochResult:
        learner = start(self.parameters, self.problem, self.common)
        run_epoch(learner, rng)
        mean = difference(learner.prediction_weights(), self.common)
        return EpochResult(EpochSums(learner.loss), direction=difference(learner.w, self.common), mean=mean)
