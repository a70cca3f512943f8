"""Projected subgradient method on the L1 ball (Balamurugan et al. 2012, equation II.7 and §V.1)."""

import numpy as np

from ..kernels import kernel
from .learner import Learner, Progress
from .parameters import ProjectedSubgradient
from .planes import axpy, dot, find_plane
from .problem import Problem, call
from .state import Field


def project(w: np.ndarray, radius: float) -> np.ndarray:
    """The point of the L1 ball that is nearest to w, float64 [d]; w itself where it lies in the ball.

    That is soft(w, θ), where the k largest magnitudes remain for the k that maximises θ = (their sum − radius)/k
    (Duchi et al. 2008).
    """
    magnitudes = np.abs(w)
    if magnitudes.sum() <= radius * (1 + 1e-12):
        return w
    descending = np.sort(magnitudes[magnitudes > 0])[::-1]
    theta = ((np.cumsum(descending) - radius) / np.arange(1, len(descending) + 1)).max()
    return w - np.clip(w, -theta, theta)


@kernel
def _visit(oracle, data, examples, weights, eta, plane):
    total = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        total += max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        axpy(weights, eta, plane.indices, plane.values, size)
    return total


class ProjectedSubgradientLearner(Learner):
    """Σ ξ_i subject to ‖w‖₁ ≤ ε: w ← w + η ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y) + Δ(y_i, y); projected once an epoch.

    Within an epoch w leaves the ball, so that the losses on the way say nothing of the objective: there is no primal.
    """

    parameters: ProjectedSubgradient
    STATE = (Field("epoch"),)

    def __init__(self, parameters: ProjectedSubgradient, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.epoch = 1

    def visit(self, examples: np.ndarray) -> None:
        eta = self.parameters.eta0 / self.epoch**0.5
        self.loss += call(_visit, self.problem, examples, self.w, eta, self.buffer)

    def end_epoch(self) -> None:
        self.w = project(self.w, self.parameters.epsilon)
        self.epoch += 1

    def prediction_weights(self) -> np.ndarray:
        return project(self.w, self.parameters.epsilon)

    def progress(self) -> Progress:
        return Progress(self.loss, None, None, None)
