"""Sequential dual method for the L1-loss SSVM (Shevade et al. 2011; LSE-SSVM paper, §V.B.4)."""

from dataclasses import dataclass

import numpy as np

from ..kernels import kernel
from .dual import DualLearner
from .oracle_pass import add_if_violated
from .pairs import NEGLIGIBLE_RISE, PAIR_STEPS, best_pair, difference_buffer, move_alpha, pair_step, plane_difference
from .parameters import TwoLoopParameters
from .planes import axpy, squared_norm
from .state import Field
from .working_set import NO_PLANE, drop_inactive, total_alpha


@dataclass(frozen=True, kw_only=True)
class Sdm(TwoLoopParameters):
    """Sequential dual method on the L1-loss SSVM, ½‖w‖² + C Σ ξ_i (Shevade et al. 2011), with a two-loop heuristic."""

    rule = "dual"


class SdmLearner(DualLearner, of=Sdm):
    """½‖w‖² + C Σ ξ_i by pair steps on α, w = Σ α ΔΦ; after κ₁ epochs, κ₂ − 1 inner passes before each oracle pass."""

    parameters: Sdm
    STATE = (Field("epochs"),)
    epochs = 0

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        p, n, unit = self.parameters, self.problem.n_examples, self.problem.unit
        settings = p.C, unit, self.keeps_planes, difference_buffer(self.problem)
        for _ in range(p.kappa2 - 1 if self.epochs >= p.kappa1 else 0):
            _inner_pass(rng.permutation(n), self.w, *settings, self.planes)
        self.epochs += 1

    def visit(self, examples: np.ndarray) -> None:
        settings = self.parameters.C, self.problem.unit, self.keeps_planes, difference_buffer(self.problem)
        self.visit_by(_oracle_pass, examples, self.w, *settings)


@kernel
def _solve(example, weights, C, unit, keeps, direction, planes):
    """SMO on the example's simplex Σ_y α_i(y) = C, gold included (Balamurugan et al. 2012, III.7 to III.9).

    Args:
        keeps: whether planes whose α is 0 stay in the working set.
    """
    for _ in range(PAIR_STEPS):
        gold_alpha = C - total_alpha(planes, example)
        high, g_high, low, g_low = best_pair(example, weights, planes, gold_alpha)
        if high == low or g_high - g_low <= NEGLIGIBLE_RISE * unit:
            break
        limit = gold_alpha if low == NO_PLANE else planes.alpha[low]
        size, _ = plane_difference(planes, high, low, direction)
        step = pair_step(g_high - g_low, limit, squared_norm(direction.values, size))
        move_alpha(planes, high, low, step)
        axpy(weights, step, direction.indices, direction.values, size)
    if not keeps:
        drop_inactive(planes, example)


@kernel
def _inner_pass(examples, weights, C, unit, keeps, direction, planes):
    """A type-II loop: a pass without oracle calls."""
    for example in examples:
        _solve(example, weights, C, unit, keeps, direction, planes)


@kernel
def _oracle_pass(oracle, data, examples, weights, C, unit, keeps, direction, sums, planes, plane):
    """A type-I loop."""
    for example in examples:
        add_if_violated(oracle, data, example, weights, 0.0, 0.0, sums, planes, plane)
        _solve(example, weights, C, unit, keeps, direction, planes)
