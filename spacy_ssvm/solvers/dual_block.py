"""Blocks of dual variables, with a common line search (Lee & Roth 2015; Lee, Chang, Upadhyay & Roth 2015).

With Δα and Δs = Σ_k Δs_k of all blocks, α ← α + ηΔα and s ← s + ηΔs, where s = Σ α ΔΦ is the dual point that w belongs
to: w itself for the penalty ½‖w‖².
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels import kernel
from .blocks import EpochSums, LearningBlock, Moved
from .dual import DualLearner
from .dual_step import dual_objective
from .frank_wolfe import FrankWolfeLearner
from .learner import run_epoch, start
from .parameters import DualParameters
from .problem import Problem
from .sparse import NOTHING, Sparse, difference, sparse
from .working_set import NONE, drop_inactive


@kernel
def _dual_move(planes, before, factor, bound):
    """Σ ΔαΔ, Σ A ΔA and Σ ΔA² of the examples, and the largest feasible step.

    before: float64, α of the first planes before the epoch; others are new. factor: what α is multiplied by now. bound:
    of each A.
    """
    linear, products, curvature, limit = 0.0, 0.0, 0.0, np.inf
    for example in range(len(planes.head)):
        total, change = 0.0, 0.0
        p = planes.head[example]
        while p != NONE:
            old = before[p] if p < len(before) else 0.0
            move = (planes.alpha[p] - factor * old) / factor
            linear += move * planes.loss[p]
            total += old
            change += move
            if move < 0.0:
                limit = min(limit, -old / move)
            p = planes.next[p]
        if change > 0.0:
            limit = min(limit, (bound - total) / change)
        products += total * change
        curvature += change * change
    return linear, products, curvature, max(1.0, limit)


@kernel
def _take_step(planes, before, factor, eta):
    """α ← α_before + η Δα; planes whose α is then 0 leave the working sets."""
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            old = before[p] if p < len(before) else 0.0
            planes.alpha[p] = max(0.0, old + eta * ((planes.alpha[p] - factor * old) / factor))
            p = planes.next[p]
        drop_inactive(planes, example)


class DualBlock(LearningBlock):
    """A solver of dual variables on one block: α of its own, and the common s.

    An epoch allows for what the other blocks do: s moves σ′ times as far as Σ Δα ΔΦ, as in CoCoA+ (Ma et al. 2015).
    This is an epoch of the solver itself with σ′C for C and σ′α for α.
    """

    def __init__(self, parameters: DualParameters, problem: Problem) -> None:
        super().__init__(parameters, problem)
        learner = start(parameters, problem)
        assert isinstance(learner, DualLearner)
        self.learner = learner
        # A step may give back part of what an epoch has taken from a plane.
        self.learner.keeps_planes = True
        self._objective = dual_objective(parameters)
        self._before = np.zeros(0)
        self._factor = 1.0

    def epoch(self, rng: np.random.Generator, factor: float, void: np.ndarray) -> Moved:
        learner = self.learner
        learner.move_to(self.common)
        begin = self.common
        if len(void):
            learner.remove(void)
            begin = learner.point.copy()
        # Without gaps, no plane gets another number while the epoch drops none.
        learner.compact()
        self._before, self._factor = learner.planes.alpha.copy(), factor
        sums_before = learner._dual_sums()
        alpha = learner.planes.alpha
        alpha *= factor
        # The solver is not to stop: its objectives are not those of the block.
        learner.parameters = replace(self.parameters, C=factor * self.parameters.C, tolerance=0.0)
        run_epoch(learner, rng)
        linear, products, curvature, limit = _dual_move(learner.planes, self._before, factor, self._objective.bound)
        removed = difference(begin, self.common) if len(void) else NOTHING
        moves = linear, products, curvature, limit, learner._count()
        figures = EpochSums(learner.loss, learner.squares, *sums_before, *moves)
        return Moved(figures, removed, difference(learner.point, begin).times(1.0 / factor))

    def step(self, eta: float, direction: Sparse, removed: Sparse) -> None:
        super().step(eta, direction, removed)
        _take_step(self.learner.planes, self._before, self._factor, eta)

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self._objective.penalty.weights(point)

    def state(self) -> dict[str, Any]:
        # The learner's own vectors are of no more use.
        learner = {name: value for name, value in self.learner.state().items() if name not in ("w", "s")}
        return {**super().state(), "learner": learner}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.learner.restore({**self.learner.state(), **state["learner"]}, np.random.default_rng())

    def dual_sum(self) -> Sparse:
        """Σ α ΔΦ over the block's planes."""
        return sparse(self.learner._dual_sum())

    def dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i A_i²."""
        return self.learner._dual_sums()


class MeanBlock(DualBlock):
    """Frank–Wolfe on one block: after a step, the mean before the epoch and the one after it are mixed into one."""

    def step(self, eta: float, direction: Sparse, removed: Sparse) -> None:
        super().step(eta, direction, removed)
        assert isinstance(self.learner, FrankWolfeLearner)
        self.learner.parameters = self.parameters
        self.learner.merge_means()
