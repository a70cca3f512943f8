"""Dual coordinate ascent for the losses L_{β,γ} (Martins et al. 2010, algorithms 1 and 2, equations 14 to 16)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..kernels import kernel
from .gradients import gather
from .learner import Learner
from .parameters import LossFamily
from .perceptron import AveragedLearner, averaged_axpy
from .planes import dot, find_plane, squared_norm
from .problem import Kind, Problem, call


@dataclass(frozen=True, kw_only=True)
class Dca(LossFamily):
    """Dual coordinate ascent, averaged (Martins et al. 2010, algorithms 1 and 2): softmax-margin by default.

    With β = ∞ and γ = 1 this is max-loss 1-best MIRA. No dual variables are stored: compare by scores, not objectives.

    C: the largest step.
    """

    rule = "mixed"

    C: float = 1.0
    beta: float | Literal["inf"] = 1.0

    @property
    def learner(self) -> type[Learner]:
        return DcaLearner


class DcaLearner(AveragedLearner):
    """w ← w − max(0, min(C, L / ‖∇L‖²)) ∇L, averaged; the paper's 1/(λm) is C.

    No dual variables are stored, so that further epochs do not converge to the optimum of ½‖w‖² + C Σ L.
    """

    parameters: Dca

    def __init__(self, parameters: Dca, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._dense = np.zeros_like(self.w)

    @property
    def needs(self) -> Kind:
        return self.parameters.oracle

    def visit(self, examples: np.ndarray) -> None:
        p = self.parameters
        shared = (examples, self.w, self.weighted_steps, self.visits, p.C)
        if p.is_smooth:
            smooth = (p.beta, p.gamma, self._dense, self.buffer)
            self.loss += call(_visit_smooth, self.problem, *shared, *smooth, kind="marginal")
        else:
            self.loss += call(_visit_hinge, self.problem, *shared, p.gamma, self.buffer)
        self.visits += len(examples)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._dense = self.grown(self._dense)


@kernel
def _ascend(weights, weighted_steps, visits, C, loss, plane, size):
    """Equation 14: a step of max(0, min(C, L / ‖∇L‖²)); the loss L of an inexact oracle may be negative."""
    norm = squared_norm(plane.values, size)
    if norm > 0.0:
        averaged_axpy(weights, weighted_steps, float(visits), max(0.0, min(C, loss / norm)), plane, size)


@kernel
def _visit_smooth(oracle, data, examples, weights, weighted_steps, visits, C, beta, gamma, dense, plane):
    total = 0.0
    for example in examples:
        entries, loss = oracle(data, example, weights, beta, gamma, plane.indices, plane.values)
        size = gather(plane, entries, dense)
        _ascend(weights, weighted_steps, visits, C, loss, plane, size)
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
        _ascend(weights, weighted_steps, visits, C, loss, plane, size)
        total += max(0.0, loss)
        visits += 1
    return total
