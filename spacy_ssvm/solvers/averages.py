"""Averages of w over all visits, for online solvers."""

import numpy as np

from ..growth import extended
from ..kernels import kernel
from .learner import NO_EXAMPLES, Learner
from .parameters import Parameters
from .planes import axpy
from .problem import Problem
from .state import Field


class AveragedLearner(Learner):
    """A learner that predicts with the mean of w over all visits so far, updated by `averaged_axpy`."""

    STATE = (Field("weighted_steps"), Field("visits"))
    visits = 0

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        # Unlike `zeros_like`, it takes no memory until it is written to.
        self.weighted_steps = np.zeros(problem.dimension)

    def prediction_weights(self) -> np.ndarray:
        """The mean of w over all visits, float64 [d]."""
        means, named = np.zeros(len(self.w)), self.problem.named
        np.divide(named(self.weighted_steps), max(self.visits, 1), out=named(means))
        np.subtract(named(self.w), named(means), out=named(means))
        return means

    def change(self, problem: Problem, dropped: np.ndarray = NO_EXAMPLES, subtracts: bool = True) -> None:
        super().change(problem, dropped, subtracts)
        self.weighted_steps = extended(self.weighted_steps, problem.dimension)


@kernel
def averaged_axpy(weights, weighted_steps, visits, step, plane, size):
    """w ← w + step · ΔΦ after `visits` earlier visits, and u ← u + visits · step · ΔΦ; weighted_steps: u.

    With u = Σ_t t · step_t ΔΦ_t, the mean of w over T visits is w − u / T, without a pass over all d weights per visit.
    """
    axpy(weights, step, plane.indices, plane.values, size)
    axpy(weighted_steps, step * visits, plane.indices, plane.values, size)
