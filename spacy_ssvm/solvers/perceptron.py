"""Averaged structured perceptron (Collins 2002; Chang & Yih 2013 §2.1 and §4.3), and averaging for online solvers."""

from dataclasses import dataclass

import numpy as np

from ..kernels import kernel
from .learner import Field, Learner, Progress
from .parameters import Parameters
from .planes import axpy, find_plane
from .problem import Problem, call


@dataclass(frozen=True, kw_only=True)
class Perceptron(Parameters):
    """Averaged structured perceptron (Chang & Yih 2013 §2.1 and §4.3): w ← w + ΔΦ(ŷ), ŷ decoded without loss."""

    rule = "mixed"

    @property
    def learner(self) -> type[Learner]:
        return PerceptronLearner


class AveragedLearner(Learner):
    """A learner that predicts with the mean of w over all visits."""

    STATE = (Field("weighted_steps"), Field("visits"))

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        # Unlike `zeros_like`, it takes no memory until it is written to.
        self.weighted_steps = np.zeros(len(self.w))
        self.visits = 0

    def prediction_weights(self) -> np.ndarray:
        means, named = np.zeros(len(self.w)), self.problem.named
        np.divide(named(self.weighted_steps), max(self.visits, 1), out=named(means))
        np.subtract(named(self.w), named(means), out=named(means))
        return means

    def progress(self) -> Progress:
        return Progress(self.loss, None, None, None)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.weighted_steps = self.grown(self.weighted_steps)


class PerceptronLearner(AveragedLearner):
    """w ← w + ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y)."""

    def visit(self, examples: np.ndarray) -> None:
        self.loss += call(_visit, self.problem, examples, self.w, self.weighted_steps, self.visits, self.buffer)
        self.visits += len(examples)


@kernel
def averaged_axpy(weights, weighted_steps, visits, step, plane, size):
    """w ← w + step · ΔΦ after `visits` earlier visits, and u ← u + visits · step · ΔΦ; weighted_steps: u.

    With u = Σ_t t · step_t ΔΦ_t, the mean of w over T visits is w − u / T, without a pass over all d weights per visit.
    """
    axpy(weights, step, plane.indices, plane.values, size)
    axpy(weighted_steps, step * visits, plane.indices, plane.values, size)


@kernel
def _visit(oracle, data, examples, weights, weighted_steps, visits, plane):
    mistakes = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 0.0, plane)
        averaged_axpy(weights, weighted_steps, float(visits), 1.0, plane, size)
        mistakes += loss
        visits += 1
    return mistakes
