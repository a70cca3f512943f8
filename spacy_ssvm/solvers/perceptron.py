"""Averaged structured perceptron (Collins 2002; Chang & Yih 2013 §2.1 and §4.3)."""

from dataclasses import dataclass

import numpy as np

from ..kernels import kernel
from .averages import AveragedLearner, averaged_axpy
from .parameters import Parameters
from .planes import find_plane, plane_buffer
from .problem import call


@dataclass(frozen=True, kw_only=True)
class Perceptron(Parameters):
    """Averaged structured perceptron (Chang & Yih 2013 §2.1 and §4.3): w ← w + ΔΦ(ŷ), ŷ decoded without loss."""

    rule = "mixed"
    adds_planes_only = True


class PerceptronLearner(AveragedLearner, of=Perceptron):
    """w ← w + ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y); it predicts with the mean of w over all visits."""

    def visit(self, examples: np.ndarray) -> None:
        plane = plane_buffer(self.problem.max_plane_entries)
        self.loss += call(_visit, self.problem, examples, self.w, self.weighted_steps, self.visits, plane)
        self.visits += len(examples)


@kernel
def _visit(oracle, data, examples, weights, weighted_steps, visits, plane):
    mistakes = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 0.0, plane)
        averaged_axpy(weights, weighted_steps, float(visits), 1.0, plane, size)
        mistakes += loss
        visits += 1
    return mistakes
