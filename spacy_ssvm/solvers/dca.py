"""Dual coordinate ascent for the losses L_{β,γ} (Martins et al. 2010, algorithms 1 and 2, equations 14 to 16)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..kernels import kernel
from .averages import AveragedLearner, averaged_axpy
from .gradients import clique_buffer, clique_sizes, find_gradient
from .parameters import LossFamily
from .planes import dot, find_plane, plane_buffer, squared_norm
from .problem import Kind, call


@dataclass(frozen=True, kw_only=True)
class Dca(LossFamily):
    """Dual coordinate ascent, averaged (Martins et al. 2010, algorithms 1 and 2): softmax-margin by default.

    With β = ∞ and γ = 1 this is max-loss 1-best MIRA. No dual variables are stored: compare by scores, not objectives.

    Attributes:
        C: the largest step.
    """

    rule = "mixed"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0


class DcaLearner(AveragedLearner, of=Dca):
    """w ← w − max(0, min(C, L / ‖∇L‖²)) ∇L, averaged; the paper's 1/(λm) is C.

    No dual variables are stored, so that further epochs do not converge to the optimum of ½‖w‖² + C Σ L. It predicts
    with the mean of w over all visits.
    """

    parameters: Dca

    @property
    def needs(self) -> Kind:
        return self.parameters.oracle

    def visit(self, examples: np.ndarray) -> None:
        p = self.parameters
        shared = (examples, self.w, self.weighted_steps, self.visits, p.C)
        if p.is_smooth:
            smooth = p.beta, p.gamma, clique_sizes(self.problem)
            self.loss += call(_visit_smooth, self.problem, *shared, *smooth, kind="cliques")
        else:
            plane = plane_buffer(self.problem.max_plane_entries)
            self.loss += call(_visit_hinge, self.problem, *shared, p.gamma, plane)
        self.visits += len(examples)


@kernel
def _step(C, loss, norm):
    """Equation 14, max(0, min(C, L / ‖∇L‖²)); the loss L of an inexact oracle may be negative."""
    return max(0.0, min(C, loss / norm)) if norm > 0.0 else 0.0


@kernel
def _visit_smooth(score, infer, move, data, examples, weights, weighted_steps, visits, C, beta, gamma, sizes):
    """The norm of the gradient is known from how much a step along it raises ½‖w‖²; then the step is corrected."""
    buffer = clique_buffer(sizes, examples)
    steps, total = np.empty(buffer.shape[1]), 0.0
    for example in examples:
        size = sizes[example]
        scores, descent, loss = find_gradient(score, infer, data, example, weights, beta, gamma, size, buffer)
        along, squares = 0.0, 0.0
        for k in range(size):
            if descent[k] != 0.0:
                along += descent[k] * scores[k]
                squares += descent[k] * descent[k]
        if squares > 0.0 and loss > 0.0:
            trial = min(C, loss / squares)
            for k in range(size):
                steps[k] = trial * descent[k]
            rise = move(data, example, weights, steps[:size])
            step = _step(C, loss, 2.0 * (rise / trial - along) / trial)
            for k in range(size):
                steps[k] = (step - trial) * descent[k]
            if step != trial:
                move(data, example, weights, steps[:size])
            for k in range(size):
                steps[k] = visits * step * descent[k]
            if visits > 0:
                move(data, example, weighted_steps, steps[:size])
        total += loss
        visits += 1
    return total


@kernel
def _visit_hinge(oracle, data, examples, weights, weighted_steps, visits, C, gamma, plane):
    """β = ∞: L = max_y γ Δ − wᵀΔΦ."""
    total = 0.0
    for example in examples:
        size, cost = find_plane(oracle, data, example, weights, gamma, plane)
        loss = gamma * cost - dot(weights, plane.indices, plane.values, size)
        norm = squared_norm(plane.values, size)
        if norm > 0.0:
            averaged_axpy(weights, weighted_steps, float(visits), _step(C, loss, norm), plane, size)
        total += max(0.0, loss)
        visits += 1
    return total
