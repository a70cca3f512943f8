"""Blocks of dual variables, with a common line search (Lee & Roth 2015; Lee, Chang, Upadhyay & Roth 2015).

With Δα and Δs = Σ_k Δs_k of all blocks, α ← α + ηΔα and s ← s + ηΔs, where s = Σ α ΔΦ is the dual point that w belongs
to: w itself for the penalty ½‖w‖². Before an epoch, momentum takes the last step again, β times as far (Nesterov 1983).
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..kernels import kernel
from .blocks import EpochSums, LearningBlock, Moved, Pace
from .dual import DualLearner
from .dual_step import dual_objective
from .frank_wolfe import FrankWolfeLearner
from .learner import plain, run_epoch, start
from .parameters import DualParameters
from .problem import Problem
from .sparse import NOTHING, Sparse, difference, sparse
from .working_set import NONE, drop_unused, dual_sums, plane_axpy, trim, weighted_sum


@kernel
def _extrapolate(planes, before, momentum, bound, point):
    """α ← α + β(α − α_before), or the nearest that is feasible on the way down; `point`, which has taken this step for
    all planes, is corrected where α has not.

    before: float64, of each plane. bound: of each A.
    """
    for example in range(len(planes.head)):
        total = 0.0
        p = planes.head[example]
        while p != NONE:
            total += max(0.0, planes.alpha[p] + momentum * (planes.alpha[p] - before[p]))
            p = planes.next[p]
        scale = bound / total if total > bound else 1.0
        p = planes.head[example]
        while p != NONE:
            goal = planes.alpha[p] + momentum * (planes.alpha[p] - before[p])
            alpha = scale * max(0.0, goal)
            if alpha != goal:
                plane_axpy(point, alpha - goal, planes, p)
            planes.alpha[p] = alpha
            p = planes.next[p]


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
def _take_step(planes, before, factor, eta, uses):
    """α ← α_before + η Δα; planes whose α is then 0, and whose use is 0, leave the working sets.

    uses: float64, of each plane; α is added.
    """
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            old = before[p] if p < len(before) else 0.0
            planes.alpha[p] = max(0.0, old + eta * ((planes.alpha[p] - factor * old) / factor))
            uses[p] += planes.alpha[p]
            p = planes.next[p]
        drop_unused(planes, example, uses)


class DualBlock(LearningBlock):
    """A solver of dual variables on one block: α of its own, and the common s.

    An epoch allows for what the other blocks do: s moves σ′ times as far as Σ Δα ΔΦ, as in CoCoA+ (Ma et al. 2015).
    This is an epoch of the solver itself with σ′C for C and σ′α for α.
    """

    has_momentum: ClassVar[bool] = True
    """Whether α of one epoch and α of the one before are those of the same planes."""

    def __init__(self, parameters: DualParameters, problem: Problem) -> None:
        super().__init__(parameters, problem)
        learner = start(parameters, problem)
        assert isinstance(learner, DualLearner)
        self.learner = learner
        # A step may give back part of what an epoch has taken from a plane.
        self.learner.keeps_planes = True
        self._objective = dual_objective(parameters)
        self._move = NOTHING
        """How far the last step has moved the common vector."""
        self._previous = np.zeros(0)
        """α of each plane before the last step."""
        self._pace = Pace()
        self._has_begun = False
        """Whether an epoch has begun whose step is not taken yet."""
        self._at_begin = self._at_start = np.zeros(0)
        """α of the first planes before the momentum of this epoch, and after it."""

    def epoch(self, rng: np.random.Generator, pace: Pace, void: np.ndarray) -> Moved:
        learner, planes, factor = self.learner, self.learner.planes, pace.factor
        self._has_begun, self._pace, at_begin = True, pace, planes.alpha.copy()
        point = self._after_momentum()
        begin = point.copy()
        if pace.momentum:
            _extrapolate(planes, self._previous, pace.momentum, self._objective.bound, begin)
        learner.move_to(begin)
        if len(void):
            learner.remove(void)
            begin = learner.point.copy()
        # Without gaps, no plane gets another number while the epoch drops none.
        self._at_begin = self._trimmed(at_begin)
        self._at_start = planes.alpha.copy()
        sums_before = learner._dual_sums()
        alpha = planes.alpha
        alpha *= factor
        # The solver is not to stop: its objectives are not those of the block.
        learner.parameters = replace(self.parameters, C=factor * self.parameters.C, tolerance=0.0)
        run_epoch(learner, rng)
        linear, products, curvature, limit = _dual_move(planes, self._at_start, factor, self._objective.bound)
        moves = linear, products, curvature, limit, learner._count(), len(void)
        figures = EpochSums(learner.loss, learner.squares, *sums_before, *moves)
        return Moved(figures, difference(begin, point), difference(learner.point, begin).times(1.0 / factor))

    def step(self, eta: float, direction: Sparse, corrected: Sparse) -> None:
        before, self.common = self.common, self._after_momentum()
        super().step(eta, direction, corrected)
        self._move = difference(self.common, before)
        planes = self.learner.planes
        at_begin = self._common_alpha()
        uses = at_begin.copy() if self.has_momentum else np.zeros_like(at_begin)
        _take_step(planes, self._at_start, self._pace.factor, eta, uses)
        self._previous = self._trimmed(at_begin)
        self._has_begun = False

    def _after_momentum(self) -> np.ndarray:
        """The common vector after the momentum of the present epoch, float64 [d], a copy."""
        point = self.common.copy()
        self._move.add_to(point, self._pace.momentum)
        return point

    def _trimmed(self, values: np.ndarray) -> np.ndarray:
        """Let the planes close their gaps; what stays of an array of a value of each plane."""
        numbers = trim(self.learner.planes)
        return values[: len(numbers)][numbers != NONE]

    def vectors(self) -> tuple[Sparse, ...]:
        return *super().vectors(), self._move

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self._objective.penalty.weights(point)

    def state(self) -> dict[str, Any]:
        # The learner's own vectors are of no more use.
        learner = {name: value for name, value in self.learner.state().items() if name not in ("w", "s")}
        return {**super().state(), "learner": learner, "move": plain(self._move), "previous": self._previous}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.learner.restore({**self.learner.state(), **state["learner"]}, np.random.default_rng())
        self._move, self._previous = Sparse(**state["move"]), state["previous"]
        if self.has_momentum and len(self._previous) != len(self.learner.planes.alpha):
            raise ValueError("a block's state has other planes before its last step than after it")

    def dual_sum(self) -> tuple[Sparse, tuple[float, float]]:
        """Σ α ΔΦ of the common vector, over the block's planes, and its Σ αΔ and Σ_i A_i²."""
        planes = self.learner.planes._replace(alpha=self._common_alpha())
        s = np.zeros(self.problem.dimension)
        weighted_sum(planes, s)
        return sparse(s), dual_sums(planes)

    def _common_alpha(self) -> np.ndarray:
        """α of each plane, float64, as it belongs to the common vector, within an epoch too."""
        alpha = self.learner.planes.alpha
        if not self._has_begun:
            return alpha
        common = np.zeros(len(alpha))
        common[: len(self._at_begin)] = self._at_begin
        return common


class MeanBlock(DualBlock):
    """Frank–Wolfe on one block: after a step, the mean before the epoch and the one after it are mixed into one."""

    has_momentum = False

    def step(self, eta: float, direction: Sparse, corrected: Sparse) -> None:
        super().step(eta, direction, corrected)
        assert isinstance(self.learner, FrankWolfeLearner)
        self.learner.parameters = self.parameters
        self.learner.merge_means()
