"""Averaged weights for the online solvers (Chang & Yih 2013 §2.1)."""

import numpy as np

from ..kernels import kernel
from .learner import Learner, Progress
from .parameters import Parameters
from .planes import axpy
from .problem import Problem


@kernel
def averaged_axpy(weights, weighted_steps, visits, step, plane, size):
    """w ← w + step · ΔΦ after `visits` earlier visits, and the same for the sum that the average is made of.

    With u = Σ_t t · step_t ΔΦ_t, the mean of w after each of T visits is w − u / T: no pass over all d weights.
    """
    axpy(weights, step, plane.indices, plane.values, size)
    axpy(weighted_steps, step * visits, plane.indices, plane.values, size)


class AveragedLearner(Learner):
    """A learner that predicts with the mean of w over all visits."""

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.weighted_steps = np.zeros_like(self.w)
        self.visits = 0

    def prediction_weights(self) -> np.ndarray:
        return self.w - self.weighted_steps / max(self.visits, 1)

    def progress(self) -> Progress:
        return Progress(self.loss, None, None, None)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.weighted_steps = self.grown(self.weighted_steps)
