"""Dual coordinate descent for the L2-loss SSVM: DCD-Light and DCD-SSVM (Chang & Yih 2013, algorithms 1 to 3)."""

import numpy as np

from ..kernels import kernel
from . import working_set
from .certificate import Certificate, slacks
from .dual import DualLearner
from .learner import Progress
from .parameters import Dcd
from .planes import dot, find_plane
from .working_set import NONE, add, drop_inactive, find, has_room, plane_axpy, plane_dot, total_alpha


@kernel
def update_weight(example, weights, planes, C):
    """Algorithm 1: one pass over the example's dual variables, newest first; those at 0 leave the working set."""
    total = total_alpha(planes, example)
    p = planes.head[example]
    while p != NONE:
        violation = planes.loss[p] - plane_dot(weights, planes, p) - total / (2.0 * C)
        alpha = max(0.0, planes.alpha[p] + violation / (planes.norm[p] + 1.0 / (2.0 * C)))
        step = alpha - planes.alpha[p]
        if step != 0.0:
            plane_axpy(weights, step, planes, p)
            total += step
            planes.alpha[p] = alpha
        p = planes.next[p]
    drop_inactive(planes, example)


@kernel
def _inner_pass(examples, weights, planes, C):
    """Algorithm 3, lines 4 to 7: a pass without oracle calls."""
    for example in examples:
        update_weight(example, weights, planes, C)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, delta, planes, plane):
    """Algorithm 2, lines 4 to 10. Stops where the working set is full; returns visits, Σ ξ and Σ ξ²."""
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = loss - dot(weights, plane.indices, plane.values, size)
        if (
            slack - total_alpha(planes, example) / (2.0 * C) > delta
            and find(planes, example, plane, size, loss) == NONE
        ):
            if not has_room(planes, size):
                return visited, total, squares
            add(planes, example, plane, size, loss)
        update_weight(example, weights, planes, C)
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
    return len(examples), total, squares


class DcdLearner(DualLearner):
    """½‖w‖² + C Σ ξ_i² by coordinate descent on α ≥ 0, w = Σ α ΔΦ; inner passes come before the oracle pass."""

    parameters: Dcd

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        for _ in range(self.parameters.inner_passes):
            _inner_pass(rng.permutation(self.problem.n_examples), self.w, self.planes, self.parameters.C)

    def visit(self, examples: np.ndarray) -> None:
        self._visit_all(_oracle_pass, examples, self.w, self.parameters.C, self.parameters.delta)

    def remove(self, examples: np.ndarray) -> None:
        working_set.remove_all(self.planes, examples, self.w)

    def progress(self) -> Progress:
        norm = float(self.w @ self.w) / 2
        dual = None if self.warm else self._dual(norm)
        return Progress(self.loss, norm + self.parameters.C * self.squares, dual, working_set.count(self.planes))

    def certificate(self) -> Certificate | None:
        """At w summed anew from the planes, as rounding errors of many small steps add up; asking changes nothing."""
        if self.warm:
            return None
        w = np.zeros_like(self.w)
        working_set.weighted_sum(self.planes, w)
        norm = float(w @ w) / 2
        return Certificate(norm + self.parameters.C * slacks(self.problem, w).squares, self._dual(norm))

    def _dual(self, norm: float) -> float:
        linear, squares = working_set.dual_sums(self.planes)
        return float(linear - norm - squares / (4 * self.parameters.C))
