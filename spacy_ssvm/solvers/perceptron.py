"""Averaged structured perceptron (Collins 2002; Chang & Yih 2013 §2.1 and §4.3)."""

import numpy as np

from ..kernels import kernel
from .averaging import AveragedLearner, averaged_axpy
from .planes import find_plane
from .problem import call


@kernel
def _visit(oracle, data, examples, weights, weighted_steps, visits, plane):
    mistakes = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 0.0, plane)
        averaged_axpy(weights, weighted_steps, float(visits), 1.0, plane, size)
        mistakes += loss
        visits += 1
    return mistakes


class PerceptronLearner(AveragedLearner):
    """w ← w + ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y)."""

    def visit(self, examples: np.ndarray) -> None:
        self.loss += call(_visit, self.problem, examples, self.w, self.weighted_steps, self.visits, self.buffer)
        self.visits += len(examples)
