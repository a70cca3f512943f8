"""Sequential dual coordinate descent for the LSE-SSVM (LSE-SSVM paper, algorithm 2)."""

import numpy as np

from ..kernels import kernel
from .lse import GAP, LseLearner, add_best
from .working_set import NONE, plane_axpy, plane_dot


@kernel
def _solve(example, weights, C, planes):
    """Lines 16 to 21: one pass over the example's dual variables, equations IV.6 and IV.7.

    Returns Σ_y C max(0, g) − αg, each as it was before its own step.
    """
    gap = 0.0
    p = planes.head[example]
    while p != NONE:
        g = planes.loss[p] - plane_dot(weights, planes, p)
        gap += C * max(0.0, g) - planes.alpha[p] * g
        if planes.norm[p] > 0.0:
            alpha = min(C, max(0.0, planes.alpha[p] + g / planes.norm[p]))
            if alpha != planes.alpha[p]:
                plane_axpy(weights, alpha - planes.alpha[p], planes, p)
                planes.alpha[p] = alpha
        elif g > 0.0:
            planes.alpha[p] = C
        p = planes.next[p]
    return gap


@kernel
def _inner_pass(examples, weights, C, planes):
    """A type-II loop."""
    for example in examples:
        _solve(example, weights, C, planes)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, outside, figures, sums, planes, plane):
    """A type-I loop, lines 8 to 25."""
    for example in examples:
        add_best(oracle, data, example, weights, outside, figures, sums, planes, plane)
        figures[GAP] += _solve(example, weights, C, planes)


class LseSdcdLearner(LseLearner):
    """D = Σ αΔ − ½‖w‖² by coordinate steps α ← clip(α + g / ‖ΔΦ‖², 0, C)."""

    def visit(self, examples: np.ndarray) -> None:
        outside = self.parameters.oracle == "outside"
        self._run(_oracle_pass, examples, self.w, self.parameters.C, outside, self.figures, kind="kbest")

    def _inner_pass(self, rng: np.random.Generator) -> None:
        _inner_pass(rng.permutation(self.problem.n_examples), self.w, self.parameters.C, self.planes)
