"""Max-loss 1-best MIRA (Crammer et al. 2005; Martins et al. 2010, equation 15)."""

import numpy as np

from ..kernels import kernel
from .averaging import AveragedLearner, averaged_axpy
from .parameters import Mira
from .planes import dot, find_plane, squared_norm
from .problem import call


@kernel
def _visit(oracle, data, examples, weights, weighted_steps, visits, C, plane):
    total = 0.0
    for example in examples:
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = max(0.0, loss - dot(weights, plane.indices, plane.values, size))
        norm = squared_norm(plane.values, size)
        if norm > 0.0:
            averaged_axpy(weights, weighted_steps, float(visits), min(C, slack / norm), plane, size)
        total += slack
        visits += 1
    return total


class MiraLearner(AveragedLearner):
    """w ← w + min(C, max(0, Δ − wᵀΔΦ) / ‖ΔΦ‖²) ΔΦ(ŷ), ŷ = argmax_y wᵀΦ(x_i, y) + Δ(y_i, y)."""

    parameters: Mira

    def visit(self, examples: np.ndarray) -> None:
        C = self.parameters.C
        self.loss += call(_visit, self.problem, examples, self.w, self.weighted_steps, self.visits, C, self.buffer)
        self.visits += len(examples)
