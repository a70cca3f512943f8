"""Block-coordinate Frank–Wolfe with line search for the L1-loss SSVM (Lacoste-Julien et al. 2013, algorithm 4)."""

from typing import Any

import numpy as np

from ..kernels import kernel
from .dual import DualLearner
from .pairs import combine, entries, pair_step
from .parameters import FrankWolfe
from .planes import axpy, dot, find_plane, squared_norm
from .problem import Problem
from .working_set import NONE, append, drop_inactive, free_room, has_room, make_room

VISITS, LOSS = 0, 1
"""In `history`: earlier visits t, and Σ_t t(t + 1)/2 · (what visit t adds to Σ ℓ_i)."""


@kernel
def _visit(oracle, data, examples, weights, C, weighted_steps, history, planes, plane):
    """Stops where the working set is full; returns visits, Σ ξ and Σ ξ².

    A step on example i is the pair step that moves α from its mean plane, w_i/C, to the oracle's plane: γ = step/C.
    """
    total, squares = 0.0, 0.0
    for visited in range(len(examples)):
        example = examples[visited]
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        mean = planes.head[example]
        indices, values, mean_size = entries(planes, mean)
        mean_loss = 0.0 if mean == NONE else planes.loss[mean]
        if not has_room(planes, size + mean_size):
            return visited, total, squares
        slack = loss - dot(weights, plane.indices, plane.values, size)
        rise = slack - (mean_loss - dot(weights, indices, values, mean_size))
        free_indices, free_values = free_room(planes)
        changed = combine(
            1.0, plane.indices, plane.values, size, -1.0, indices, values, mean_size, free_indices, free_values
        )
        step = pair_step(rise, C, squared_norm(free_values, changed))
        if step > 0.0:
            gamma = step / C
            new_loss = (1.0 - gamma) * mean_loss + gamma * loss
            size = combine(
                gamma,
                plane.indices,
                plane.values,
                size,
                1.0 - gamma,
                indices,
                values,
                mean_size,
                free_indices,
                free_values,
            )
            # Means are rounded: w moves by what is kept of them, so that it stays Σ α ΔΦ.
            axpy(weights, C, free_indices, free_values, size)
            axpy(weights, -C, indices, values, mean_size)
            if len(weighted_steps):
                triangle = history[VISITS] * (history[VISITS] + 1.0) / 2.0
                axpy(weighted_steps, C * triangle, free_indices, free_values, size)
                axpy(weighted_steps, -C * triangle, indices, values, mean_size)
                history[LOSS] += C * triangle * (new_loss - mean_loss)
            if mean != NONE:
                planes.alpha[mean] = 0.0
            append(planes, example, size, new_loss, C)
            drop_inactive(planes, example)
        history[VISITS] += 1.0
        total += max(0.0, slack)
        squares += max(0.0, slack) ** 2
    return len(examples), total, squares


class FrankWolfeLearner(DualLearner):
    """½‖w‖² + C Σ ξ_i, w = Σ w_i; each working set holds one plane, the mean w_i/C of those met, with α_i = C.

    Averaged, w̄ ← k/(k + 2) w̄ + 2/(k + 2) w after each visit, or w̄ = w − u/(T(T + 1)/2) after T of them with
    u = Σ_t t(t + 1)/2 · (step after t earlier visits): no pass over all d weights. The certificate is then w̄'s, whose
    dual variables are averages too.
    """

    parameters: FrankWolfe

    def __init__(self, parameters: FrankWolfe, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._start_average()

    def _start_average(self) -> None:
        self.weighted_steps = np.zeros(self.problem.dimension if self.parameters.averaging else 0)
        self.history = np.zeros(2)

    def visit(self, examples: np.ndarray) -> None:
        self._visit_all(_visit, examples, self.w, self.parameters.C, self.weighted_steps, self.history)

    def prediction_weights(self) -> np.ndarray:
        return self.w - self.weighted_steps / self._triangle() if self.parameters.averaging else self.w

    def retune(self, parameters: Any) -> bool:
        """Each α is C: what the new C adds to it is gold's, whose plane is zero, in the mean."""
        growth = max(1.0, parameters.C / self.parameters.C)
        if not super().retune(parameters):
            return False
        for part, factor in zip(
            (self.planes.alpha, self.planes.values, self.planes.loss, self.planes.norm),
            (growth, 1 / growth, 1 / growth, 1 / growth**2),
        ):
            part *= factor
        self.w = self._dual_sum()
        self._start_average()
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        if self.parameters.averaging:
            self.weighted_steps = self.grown(self.weighted_steps)

    def _make_room(self, problem: Problem) -> None:
        """A mean plane has the entries of many, and the next mean is written beside it."""
        largest_mean = int(self.planes.size.max(initial=0))
        make_room(self.planes, problem.n_examples, problem.max_plane_entries + largest_mean)

    def remove(self, examples: np.ndarray) -> None:
        """The average starts anew from there, as it cannot be told what these examples have contributed to it."""
        if self.parameters.averaging and (self.planes.head[examples] != NONE).any():
            self._start_average()
        super().remove(examples)

    def _dual_sums(self) -> tuple[float, float]:
        linear, squares = super()._dual_sums()
        return linear - self.history[LOSS] / self._triangle(), squares

    def _summed(self) -> np.ndarray:
        return self.prediction_weights() if self.parameters.averaging else self._dual_sum()

    def _triangle(self) -> float:
        """T(T + 1)/2, at least 1, after T visits."""
        return max(1.0, float(self.history[VISITS] * (self.history[VISITS] + 1) / 2))
