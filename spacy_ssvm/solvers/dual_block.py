"""Blocks of dual variables, which take common steps (Lee & Roth 2015; Lee, Chang, Upadhyay & Roth 2015).

With Δα and Δs = Σ_k Δs_k of all blocks, α ← α + ηΔα and s ← s + ηΔs, where s = Σ α ΔΦ is the dual point that w belongs
to: w itself for the penalty ½‖w‖². Momentum then goes beyond, β times as far as from the last α (Nesterov 1983).
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..kernels import kernel
from .blocks import EpochResult, EpochSettings, EpochSums, LearningBlock
from .dual import DualLearner
from .dual_step import dual_objective
from .frank_wolfe import FrankWolfeLearner
from .learner import run_epoch, start
from .parameters import DualParameters
from .problem import Problem
from .sparse import ZERO, SparseVector, difference, sparse
from .working_set import NO_PLANE, count, drop_unused, dual_sums, plane_axpy, trim, weighted_sum


@kernel
def _go_ahead(planes, stepped, previous, momentum, bound, ahead, change):
    """Set `ahead`, float64, to α + β(α − α_previous) for each plane, made feasible; add Σ (ahead − α) ΔΦ to `change`.

    stepped: α of each plane. previous: α of each plane after the epoch before. momentum: β. bound: the largest feasible
    A of each example.
    """
    for example in range(len(planes.head)):
        total = 0.0
        p = planes.head[example]
        while p != NO_PLANE:
            ahead[p] = max(0.0, stepped[p] + momentum * (stepped[p] - previous[p]))
            total += ahead[p]
            p = planes.next[p]
        scale = bound / total if total > bound else 1.0
        p = planes.head[example]
        while p != NO_PLANE:
            ahead[p] *= scale
            if ahead[p] != stepped[p]:
                plane_axpy(change, ahead[p] - stepped[p], planes, p)
            p = planes.next[p]


@kernel
def _dual_move(planes, before, moves, bound):
    """Σ ΔαΔ, Σ A ΔA and Σ ΔA² of the examples, and the largest feasible step.

    before: float64, α of each plane before the epoch. moves: float64, Δα of each plane. bound: of each A.
    """
    linear, products, curvature, limit = 0.0, 0.0, 0.0, np.inf
    for example in range(len(planes.head)):
        total, change = 0.0, 0.0
        p = planes.head[example]
        while p != NO_PLANE:
            linear += moves[p] * planes.loss[p]
            total += before[p]
            change += moves[p]
            if moves[p] < 0.0:
                limit = min(limit, -before[p] / moves[p])
            p = planes.next[p]
        if change > 0.0:
            limit = min(limit, (bound - total) / change)
        products += total * change
        curvature += change * change
    return linear, products, curvature, max(1.0, limit)


@kernel
def _drop(planes, uses):
    """Take planes whose use is 0 out of the working sets. uses: float64, of each plane."""
    for example in range(len(planes.head)):
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
        self._previous = np.zeros(0)
        """α of the first planes after the last step, without momentum; others are new."""
        # Of each plane in the present epoch: α before it, Δα, and α after it with momentum.
        self._before = self._moves = self._ahead = np.zeros(0)

    def epoch(self, rng: np.random.Generator, settings: EpochSettings, void: np.ndarray) -> EpochResult:
        learner, planes, factor = self.learner, self.learner.planes, settings.factor
        learner.move_to(self.common)
        begin = self.common
        if len(void):
            learner.change(self.problem, void)
            begin = learner.point.copy()
        # Without gaps, no plane gets another number while the epoch drops none.
        self._previous = self._trimmed(self._previous)
        before = planes.alpha.copy()
        sums_before = learner.dual_sums()
        alpha = planes.alpha
        alpha *= factor
        # The solver is not to stop: its objectives are not those of the block.
        learner.parameters = replace(self.parameters, C=factor * self.parameters.C, tolerance=0.0)
        run_epoch(learner, rng)
        self._before = self._of_all(before)
        self._moves = planes.alpha / factor - self._before
        linear, products, curvature, limit = _dual_move(planes, self._before, self._moves, self._objective.bound)
        moves = linear, products, curvature, limit, count(planes)
        figures = EpochSums(learner.loss, learner.squares, *sums_before, *moves)
        # In place of the learner's point, which is of no more use.
        moved = learner.point
        moved -= begin
        moved /= factor
        direction = sparse(moved)
        moved[:] = 0.0
        removed = difference(begin, self.common) if len(void) else ZERO
        return EpochResult(figures, removed, direction, self._momentum(settings.momentum, moved))

    def _momentum(self, momentum: float, zeros: np.ndarray) -> SparseVector:
        """How far the momentum of the present epoch moves the common vector. zeros: float64 [d], overwritten."""
        if not momentum:
            return ZERO
        planes, bound = self.learner.planes, self._objective.bound
        stepped, previous = self._before + self._moves, self._of_all(self._previous)
        self._ahead = np.zeros_like(stepped)
        _go_ahead(planes, stepped, previous, momentum, bound, self._ahead, zeros)
        return sparse(zeros)

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        super().step(eta, change, with_momentum)
        planes, stepped = self.learner.planes, np.maximum(0.0, self._before + eta * self._moves)
        planes.alpha[:] = self._ahead if with_momentum and len(self._ahead) else stepped
        _drop(planes, stepped + planes.alpha)
        self._previous = self._trimmed(stepped)
        self._before = self._moves = self._ahead = np.zeros(0)

    def _of_all(self, values: np.ndarray) -> np.ndarray:
        """Values of the first planes, and 0 for those that are new, float64."""
        padded = np.zeros(len(self.learner.planes.alpha))
        padded[: len(values)] = values
        return padded

    def _trimmed(self, values: np.ndarray) -> np.ndarray:
        """Let the planes close their gaps; what stays of an array of a value of each plane."""
        numbers = trim(self.learner.planes)
        return values[: len(numbers)][numbers != NO_PLANE]

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self._objective.penalty.weights(point)

    def state(self) -> dict[str, Any]:
        # The learner's own vectors are of no more use.
        learner = {name: value for name, value in self.learner.state().items() if name not in ("w", "s")}
        return {**super().state(), "learner": learner, "previous": self._previous}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.learner.restore({**self.learner.state(), **state["learner"]}, np.random.default_rng())
        self._previous = state["previous"]
        if len(self._previous) != len(self.learner.planes.alpha):
            raise ValueError("a block's state has other planes with momentum than without")

    def dual_sum(self) -> tuple[SparseVector, tuple[float, float]]:
        """Σ α ΔΦ after the last step without momentum, over the block's planes, and its Σ αΔ and Σ_i A_i²."""
        planes = self.learner.planes._replace(alpha=self._of_all(self._previous))
        s = np.zeros(self.problem.dimension)
        weighted_sum(planes, s)
        return sparse(s), dual_sums(planes)


class MeanBlock(DualBlock):
    """Frank–Wolfe on one block: after a step, the mean before the epoch and the one after it are mixed into one."""

    has_momentum = False

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        super().step(eta, change, with_momentum)
        assert isinstance(self.learner, FrankWolfeLearner)
        self.learner.parameters = self.parameters
        self.learner.merge_means()
        trim(self.learner.planes)
        self._previous = self.learner.planes.alpha.copy()
