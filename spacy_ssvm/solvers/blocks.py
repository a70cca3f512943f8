"""Learning from blocks of examples that share w: an epoch on each block from the common w, then one common step.

For DCD-SSVM the updates of the dual variables are block-diagonal, and the length of the step is found by an exact line
search on the dual objective (Lee & Roth 2015; Lee, Chang, Upadhyay & Roth 2015): with Δα and Δw = Σ_k Δw_k of all
blocks, α ← α + ηΔα and w ← w + ηΔw. For averaged online solvers the next w is the mean of the blocks' w: iterative
parameter mixing (McDonald, Hall & Mann 2010).
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..kernels import kernel
from .certificate import Slacks, slacks
from .dcd import DcdLearner
from .learner import run_epoch, start
from .parameters import Dcd, Mira, Parameters, Perceptron, PredictionMira
from .perceptron import AveragedLearner
from .problem import Problem
from .working_set import NONE, drop_inactive

Entries: TypeAlias = tuple[np.ndarray, np.ndarray]
"""What is not zero of a vector of weights: indices, ascending, and values float64."""


class Figures(NamedTuple):
    """Sums over a block's examples, of an epoch.

    loss, squares: Σ ξ and Σ ξ² of the visits. linear_before, squares_before: Σ αΔ and Σ_i A_i², A_i = Σ_y α_i(y),
    before the epoch, without planes that are void. linear: Σ Δα Δ. products: Σ_i A_i ΔA_i. curvature: Σ_i ΔA_i².
    max_step: the largest η with all α + ηΔα ≥ 0, at least 1. planes: the number of planes in the working sets.
    """

    loss: float
    squares: float = 0.0
    linear_before: float = 0.0
    squares_before: float = 0.0
    linear: float = 0.0
    products: float = 0.0
    curvature: float = 0.0
    max_step: float = np.inf
    planes: int = 0


class Moved(NamedTuple):
    """What an epoch on one block has moved.

    removed: what w loses with the planes that are void, float64 [d]; empty if none is. direction: Δw, float64 [d].
    mean: how far the mean of w over the epoch is from the common w, float64 [d]; empty for solvers that predict with w.
    """

    figures: Figures
    removed: np.ndarray
    direction: np.ndarray
    mean: np.ndarray


class Block(ABC):
    """A learner of one block's examples. problem: theirs, with the weights in an order of the block's own."""

    def __init__(self, parameters: Any, problem: Problem) -> None:
        self.parameters = parameters
        self.problem = problem
        self.w = np.zeros(problem.dimension)
        """The common w, as far as the block's features read it."""

    @abstractmethod
    def epoch(self, rng: np.random.Generator, factor: float, void: np.ndarray) -> Moved:
        """Run an epoch from the common w, which stays as it is.

        factor: how many times as far as this block, all blocks together are expected to move w. Steps of dual variables
        allow for it: σ′ of CoCoA+ (Ma et al. 2015). void: examples whose gold has changed, int64; their planes go.
        """

    def step(self, eta: float, direction: Entries, removed: Entries) -> None:
        """Take the common step: w ← w + removed + η · direction, of all blocks, and the dual variables with it."""
        for length, (indices, values) in ((1.0, removed), (eta, direction)):
            self.w[indices] += length * values

    def state(self) -> dict[str, Any]:
        """What `restore` takes, between a step and the next epoch; arrays are not copied."""
        used = np.flatnonzero(self.w)
        return {"dimension": len(self.w), "used": used, "values": self.w[used]}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another block of the same examples.

        Raises:
            ValueError: this is no such state.
        """
        if state["dimension"] != len(self.w):
            raise ValueError(f"a block's state has {state['dimension']:,} weights, not {len(self.w):,}")
        self.w[:] = 0.0
        self.w[state["used"]] = state["values"]

    def slacks(self, change: Entries) -> Slacks:
        """Σ ξ and Σ ξ² of the examples at w + change."""
        (indices, values), w = change, self.w.copy()
        w[indices] += values
        return slacks(self.problem, w)


@kernel
def _dual_move(planes, before):
    """Σ ΔαΔ, Σ A ΔA and Σ ΔA² of the examples, and the largest feasible step.

    before: float64, α of the first planes before the epoch; others are new.
    """
    linear, products, curvature, limit = 0.0, 0.0, 0.0, np.inf
    for example in range(len(planes.head)):
        total, change = 0.0, 0.0
        p = planes.head[example]
        while p != NONE:
            old = before[p] if p < len(before) else 0.0
            move = planes.alpha[p] - old
            linear += move * planes.loss[p]
            total += old
            change += move
            if move < 0.0:
                limit = min(limit, -old / move)
            p = planes.next[p]
        products += total * change
        curvature += change * change
    return linear, products, curvature, limit


@kernel
def _take_step(planes, before, eta):
    """α ← α_before + η (α − α_before); planes whose α is then 0 leave the working sets."""
    for example in range(len(planes.head)):
        p = planes.head[example]
        while p != NONE:
            old = before[p] if p < len(before) else 0.0
            planes.alpha[p] = max(0.0, old + eta * (planes.alpha[p] - old))
            p = planes.next[p]
        drop_inactive(planes, example)


class DualBlock(Block):
    """DCD-SSVM on one block: dual variables of its own, and the common w."""

    def __init__(self, parameters: Dcd, problem: Problem) -> None:
        super().__init__(parameters, problem)
        self.learner = DcdLearner(parameters, problem)
        # A step may give back part of what an epoch has taken from a plane.
        self.learner.keeps_planes = True
        self._before = np.zeros(0)

    def epoch(self, rng: np.random.Generator, factor: float, void: np.ndarray) -> Moved:
        learner = self.learner
        learner.w[:] = begin = self.w
        if len(void):
            learner.remove(void)
            begin = learner.w.copy()
        # Without gaps, no plane gets another number while the epoch drops none.
        learner.compact()
        self._before = learner.planes.alpha.copy()
        sums_before = learner._dual_sums()
        learner.factor = factor
        run_epoch(learner, rng)
        linear, products, curvature, limit = _dual_move(learner.planes, self._before)
        sums = learner.loss, learner.squares, *sums_before, linear, products, curvature
        removed = begin - self.w if len(void) else np.zeros(0)
        return Moved(Figures(*sums, limit, learner._count()), removed, (learner.w - begin) / factor, np.zeros(0))

    def step(self, eta: float, direction: Entries, removed: Entries) -> None:
        super().step(eta, direction, removed)
        _take_step(self.learner.planes, self._before, eta)

    def state(self) -> dict[str, Any]:
        # The learner's own w is of no more use.
        learner = {name: value for name, value in self.learner.state().items() if name != "w"}
        return {**super().state(), "learner": learner}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.learner.restore({**state["learner"], "w": self.w.copy()}, np.random.default_rng())

    def dual_sum(self) -> np.ndarray:
        """Σ α ΔΦ over the block's planes, float64 [d]."""
        return self.learner._summed()

    def dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i A_i²."""
        return self.learner._dual_sums()


class MixedBlock(Block):
    """An averaged online solver on one block, which begins anew in each epoch."""

    def epoch(self, rng: np.random.Generator, factor: float, void: np.ndarray) -> Moved:
        learner = start(self.parameters, self.problem, self.w)
        assert isinstance(learner, AveragedLearner)
        run_epoch(learner, rng)
        return Moved(Figures(learner.loss), np.zeros(0), learner.w - self.w, learner.prediction_weights() - self.w)


def kind_of_block(parameters: Parameters) -> type[Block]:
    """The class of this solver's blocks.

    Raises:
        ValueError: the solver does not learn in blocks.
    """
    if isinstance(parameters, Dcd):
        return DualBlock
    if isinstance(parameters, Perceptron | Mira | PredictionMira):
        return MixedBlock
    raise ValueError(
        f"its solver, {type(parameters).__name__}, does not learn by several workers: choose DCD, DCDLight, "
        "Perceptron, MIRA or PredictionMIRA"
    )


def expected_factor(n_blocks: int) -> float:
    """How many times as far as one block, K blocks are expected to move w: the mean of 1, where the others do nothing,
    and K, where they do the same.

    With 1, each block goes all the way for features that all have, and w swings from epoch to epoch although the dual
    objective rises; with K, the safe bound of Ma et al. 2015, epochs gain less than they could.
    """
    return (1.0 + n_blocks) / 2.0


def best_step(linear: float, along: float, products: float, norm: float, curvature: float, C: float) -> float:
    """The η that maximises the dual objective of the L2-loss SSVM along Δα.

    linear: Σ ΔαΔ. along: wᵀΔw. products: Σ_i A_i ΔA_i. norm: ‖Δw‖². curvature: Σ_i ΔA_i².
    """
    slope = linear - along - products / (2.0 * C)
    bend = norm + curvature / (2.0 * C)
    return max(0.0, slope / bend) if bend > 0.0 else 0.0
