"""Blocks of dual variables, which take common steps (Lee & Roth 2015; Lee, Chang, Upadhyay & Roth 2015).

With Δα and Δs = Σ_k Δs_k of all blocks, α ← α + ηΔα and s ← s + ηΔs, where s = Σ α ΔΦ is the dual point that w belongs
to: w itself for the penalty ½‖w‖². Momentum then goes beyond, β times as far as from the last α (Nesterov 1983); it
begins anew when the dual objective falls (O'Donoghue & Candès 2015).
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...kernels import kernel
from ...solvers.dual import DualLearner
from ...solvers.frank_wolfe import FrankWolfeLearner
from ...solvers.learner import Certificate, Progress, start
from ...solvers.parameters import DualParameters
from ...solvers.penalty import Penalty
from ...solvers.planes import plane_buffer
from ...solvers.problem import Problem
from ...solvers.sap import line_search
from ...solvers.working_set import NO_PLANE, count, drop_unused, dual_sums, plane_axpy, trim, weighted_sum
from ..messages import ZERO, SparseVector, difference, sparse
from ..shared_blocks import SharedBlocks
from .rule import BlockParts, CommonSteps, LearningBlock, Step, total


class DualSettings(NamedTuple):
    """The settings of an epoch on one block, which allow for the other blocks.

    Attributes:
        factor: what C is multiplied by.
        momentum: β, how far beyond the end of the epoch momentum goes, in parts of the way from the end of the last
            one.
    """

    factor: float = 1.0
    momentum: float = 0.0


class DualSums(NamedTuple):
    """Sums over a block's examples, of an epoch.

    Attributes:
        loss, squares: Σ ξ and Σ ξ² of the visits.
        linear_before, squares_before: Σ αΔ and Σ_i A_i², A_i = Σ_y α_i(y), before the epoch, without planes that are
            void.
        linear: Σ Δα Δ.
        products: Σ_i A_i ΔA_i.
        curvature: Σ_i ΔA_i².
        max_step: the largest η for which α + ηΔα is feasible, at least 1.
        planes: the number of planes in the working sets.
    """

    loss: float
    squares: float
    linear_before: float
    squares_before: float
    linear: float
    products: float
    curvature: float
    max_step: float
    planes: int


class DualEpoch(NamedTuple):
    """The result of an epoch on one block: how far it has moved the common vector.

    Attributes:
        removed: the contribution of the void planes, which it loses.
        direction: how far it has moved otherwise.
        ahead: how far momentum goes beyond.
    """

    sums: DualSums
    removed: SparseVector
    direction: SparseVector
    ahead: SparseVector


class DualObjective(NamedTuple):
    """Σ αΔ − Ω*(Σ α ΔΦ) − Σ_i A_i² / 4κ with A_i = Σ_y α_i(y) ≤ bound; the primal is Ω(w) + C Σ ξ^power.

    Attributes:
        kappa: C with the L2-loss, ∞ with the L1-loss.
        bound: ∞ with the L2-loss, C with the L1-loss.
    """

    penalty: Penalty
    C: float
    power: int

    @property
    def kappa(self) -> float:
        return self.C if self.power == 2 else np.inf

    @property
    def bound(self) -> float:
        return np.inf if self.power == 2 else self.C

    def primal(self, w: np.ndarray, slacks: float, squares: float) -> float:
        """The primal at w, float64 [d]. slacks, squares: Σ ξ and Σ ξ²."""
        return self.penalty.values(w)[0] + self.C * (slacks if self.power == 1 else squares)

    def dual(self, w: np.ndarray, linear: float, squares: float) -> float:
        """The dual whose dual point w belongs to. linear, squares: Σ αΔ and Σ_i A_i²."""
        return linear - self.penalty.values(w)[1] - squares / (4.0 * self.kappa)

    def best_step(
        self, s: np.ndarray, direction: SparseVector, linear: float, products: float, curvature: float, limit: float
    ) -> float:
        """The η in [0, limit] that maximises the dual of α + ηΔα.

        Args:
            s: Σ α ΔΦ, float64 [d].
            direction: Σ Δα ΔΦ.
            linear: Σ ΔαΔ.
            products: Σ_i A_i ΔA_i.
            curvature: Σ_i ΔA_i².
            limit: ∞ where no α falls, and no A_i is bounded.
        """
        penalty = self.penalty
        if penalty.rho1:
            if np.isinf(limit):
                return 0.0
            indices, values = direction.indices.astype(np.int64), direction.values
            along = plane_buffer(0)._replace(indices=indices, values=values)
            return float(line_search(s, limit, penalty.rho1, penalty.rho2, abs(linear), along, len(indices), linear))
        slope = linear - float(s[direction.indices] @ direction.values) / penalty.rho2 - products / (2.0 * self.kappa)
        bend = float(direction.values @ direction.values) / penalty.rho2 + curvature / (2.0 * self.kappa)
        return min(limit, max(0.0, slope / bend)) if bend > 0.0 else 0.0


def dual_objective(parameters: DualParameters) -> DualObjective:
    """The dual that a solver with these parameters maximises."""
    return DualObjective(parameters.penalty, parameters.C, parameters.power)


@kernel
def _go_ahead(planes, stepped, previous, momentum, bound, ahead, change):
    """Set `ahead`, float64, to α + β(α − α_previous) for each plane, made feasible; add Σ (ahead − α) ΔΦ to `change`.

    Args:
        stepped: α of each plane.
        previous: α of each plane after the epoch before.
        momentum: β.
        bound: the largest feasible A of each example.
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

    Args:
        before: float64, α of each plane before the epoch.
        moves: float64, Δα of each plane.
        bound: of each A.
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
    """A dual solver on one block, with its own α and the common s.

    An epoch allows for the other blocks' moves: s moves σ′ times as far as Σ Δα ΔΦ, as in CoCoA+ (Ma et al. 2015). This
    is an epoch of the solver itself with σ′C for C and σ′α for α.
    """

    alone = DualSettings()

    def __init__(self, parameters: DualParameters, problem: Problem, parts: BlockParts) -> None:
        super().__init__(parameters, problem, parts)
        learner = start(parameters, problem)
        assert isinstance(learner, DualLearner)
        self.learner = learner
        # A step may give back part of what an epoch has taken from a plane.
        self.learner.keeps_planes = True
        self._objective = dual_objective(parameters)
        self._previous = np.zeros(0)
        """α of the first planes after the last step, without momentum; later planes are new."""
        # Of each plane in the present epoch: α before it, Δα, and α after it with momentum.
        self._before = self._moves = self._ahead = np.zeros(0)

    def epoch(self, rng: np.random.Generator, settings: DualSettings, void: np.ndarray) -> DualEpoch:
        learner, planes, factor = self.learner, self.learner.planes, settings.factor
        learner.move_to(self.common)
        begin, removed = self.vector, ZERO
        if len(void):
            learner.change(self.problem, void)
            begin, removed = sparse(learner.point), difference(learner.point, self.common)
        # Without gaps, no plane gets another number while the epoch drops none.
        self._previous = self._trimmed(self._previous)
        before = planes.alpha.copy()
        sums_before = learner.dual_sums()
        learner.scaled_epoch(rng, factor)
        self._before = self._of_all(before)
        self._moves = planes.alpha / factor - self._before
        linear, products, curvature, limit = _dual_move(planes, self._before, self._moves, self._objective.bound)
        moves = linear, products, curvature, limit, count(planes)
        figures = DualSums(learner.loss, learner.squares, *sums_before, *moves)
        # In place of the learner's vectors, which are of no more use until the next epoch.
        moved = learner.point
        learner.move_to(np.zeros(0))
        begin.add_to(moved, -1.0)
        moved /= factor
        direction = sparse(moved)
        moved[:] = 0.0
        return DualEpoch(figures, removed, direction, self._momentum(settings.momentum, moved))

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
        """Values of the first planes, and 0 for new planes, float64."""
        padded = np.zeros(len(self.learner.planes.alpha))
        padded[: len(values)] = values
        return padded

    def _trimmed(self, values: np.ndarray) -> np.ndarray:
        """Close the gaps between planes; returns an array of values by plane without the dropped ones."""
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

    def dual_sum(self) -> "DualSum":
        """The sums over the block's planes after the last step, without momentum."""
        planes = self.learner.planes._replace(alpha=self._of_all(self._previous))
        s = np.zeros(self.problem.dimension)
        weighted_sum(planes, s)
        return DualSum(sparse(s), *dual_sums(planes))


class DualSum(NamedTuple):
    """Σ α ΔΦ over a block's planes, and its Σ αΔ and Σ_i A_i²."""

    vector: SparseVector
    linear: float
    squares: float


class MeanBlock(DualBlock):
    """Frank–Wolfe on one block: after a step, the mean before the epoch and the one after it are mixed into one."""

    def step(self, eta: float, change: SparseVector, with_momentum: bool) -> None:
        super().step(eta, change, with_momentum)
        assert isinstance(self.learner, FrankWolfeLearner)
        self.learner.merge_means()
        trim(self.learner.planes)
        self._previous = self.learner.planes.alpha.copy()


SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step."""


class DualSteps(CommonSteps):
    """α ← α + ηΔα, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015).

    With momentum, the factor is K, the number of blocks, and there is no search: with the safe bound of CoCoA+ (Ma et
    al. 2015), a step of length 1 does not lower the dual objective. Without momentum, η is the one that raises the dual
    objective most, and the factor is the mean of 1, where other blocks do nothing, and K, where they do the same.
    """

    VECTORS = "common", "point"
    has_momentum: ClassVar[bool] = True
    """Whether α of one epoch and α of the one before belong to the same planes."""

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks, n_parts: int) -> None:
        super().__init__(parameters, blocks, DualSettings())
        self._objective = dual_objective(parameters)
        self._has_momentum = self.has_momentum and blocks.n_blocks > 1
        self._pace = DualSettings(blocks.n_blocks if self._has_momentum else (1.0 + blocks.n_blocks) / 2.0)
        self.point = np.zeros(0)
        """The dual point of the weights: the common vector without momentum."""
        self._dual = -np.inf
        """The dual objective after the last epoch."""
        self._time = 1.0
        """Nesterov's t, from which momentum follows."""

    def moved(self, found: list[DualEpoch], step: Step) -> tuple[Step, Progress]:
        parts, objective, point = [message.sums for message in found], self._objective, self.point
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        point[:] = self.common
        for message in found:
            message.removed.add_to(point)
        primal = objective.primal(self._weights(), sums["loss"], sums["squares"])
        eta = 1.0
        if self._has_momentum:
            for message in found:
                message.direction.add_to(point)
        else:
            direction = total([message.direction for message in found], len(point))
            along = sums["linear"], sums["products"], sums["curvature"]
            eta = objective.best_step(point, direction, *along, min(part.max_step for part in parts))
            direction.add_to(point, eta)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * sums["products"] + eta * eta * sums["curvature"]
        dual = objective.dual(self._weights(), linear, squares)
        after, with_momentum = point, self._has_momentum and dual >= self._dual
        if with_momentum:
            after = point.copy()
            for message in found:
                message.ahead.add_to(after)
        if self._has_momentum:
            self._time = _next_time(self._time if with_momentum else 1.0)
            self._pace = self._pace._replace(momentum=(self._time - 1.0) / _next_time(self._time))
        self._dual = dual
        # Not `after` itself: workers add the change, too, and the sum may differ from it in the last digit.
        change = difference(after, self.common)
        change.add_to(self.common)
        progress = Progress(sums["loss"], primal, dual, sum(part.planes for part in parts))
        return step._replace(eta=eta, change=change, with_momentum=with_momentum), progress

    def state(self) -> dict[str, Any]:
        return {**super().state(), "time": self._time, "dual": self._dual}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._time, self._dual = state["time"], state["dual"]

    def weights(self) -> np.ndarray:
        return self.blocks.dense(self._weights())

    def _weights(self) -> np.ndarray:
        """The weights in use, float64."""
        return self._objective.penalty.weights(self.point)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, or gold is incomplete. Blocks that have begun an epoch end it first.
        """
        if not self.blocks.is_certified:
            return None
        self.step()
        self.wait()
        found: list[DualSum] = self.entered(self.blocks.ask("dual_sum"))
        point = np.zeros_like(self.common)
        for part in found:
            part.vector.add_to(point)
        linear, squares = math.fsum(part.linear for part in found), math.fsum(part.squares for part in found)
        change = self.blocks.of_all(difference(point, self.common))
        slacks = self.blocks.ask("slacks", [(part,) for part in self.blocks.parts(change)])
        w = self._objective.penalty.weights(point)
        totals = [math.fsum(part[k] for part in slacks) for k in range(2)]
        return Certificate(self._objective.primal(w, *totals), self._objective.dual(w, linear, squares))


class MeanSteps(DualSteps):
    """Steps of Frank–Wolfe, which keeps no dual variables of single structures."""

    has_momentum = False


def _next_time(time: float) -> float:
    return (1.0 + math.sqrt(1.0 + 4.0 * time * time)) / 2.0
