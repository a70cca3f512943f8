"""Rules for learning from K blocks of examples that share w: what is sent, and how far w moves.

All duals are those of the L2-loss SSVM, ½‖w‖² + C Σ ξ_i², and all primals are evaluated for it. A rule that has no dual
variables has no dual objective: its w is only seen from the primal.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spacy_ssvm.distributed.messages import BlockEpoch, sparse
from spacy_ssvm.distributed.rules.dual import DualObjective, DualSteps
from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.penalty import Penalty

from .blocks import SEED, Blocks


class Point(NamedTuple):
    """Where a rule is after an epoch. w: to predict with, float64 [d]. dual: the dual objective, if w has one."""

    w: np.ndarray
    dual: float | None


class Learning(ABC):
    """A rule at work. blocks: their solver is that of the rule. C: of the objective."""

    def __init__(self, blocks: Blocks, C: float) -> None:
        self.blocks = blocks
        self.C = C
        self.epochs = 0

    @abstractmethod
    def epoch(self) -> None:
        """Run an epoch on each block, and take the step."""

    @abstractmethod
    def point(self) -> Point:
        """Where w is now."""


class Momentum(Learning):
    """The rule of the package."""

    def __init__(self, blocks: Blocks, C: float) -> None:
        super().__init__(blocks, C)
        self._rule = DualSteps(Dcd(C=C, seed=SEED), blocks.shared, len(blocks))

    def epoch(self) -> None:
        self._rule.epoch(self.epochs)
        self._rule.step()
        self.blocks.move_to(self.blocks.shared.dense(self._rule.common))
        self.epochs += 1

    def point(self) -> Point:
        return summed(self.blocks, self.C)


def summed(blocks: Blocks, C: float) -> Point:
    """The w of all dual variables."""
    parts, linear, squares = blocks.dual_sums()
    w = blocks.sum(parts)
    return Point(w, linear - float(w @ w) / 2 - squares / (4.0 * C))


@dataclass(frozen=True)
class Step:
    """Steps of dual variables.

    factor: for K blocks, how many times as far as one block all are expected to move w. length: η for K blocks; None
    is the one that raises the dual most.
    """

    factor: Callable[[int], float]
    length: Callable[[int], float] | None = None


class CommonSteps(Learning):
    """Block-diagonal steps of dual variables, of a common length."""

    def __init__(self, blocks: Blocks, C: float, step: Step) -> None:
        super().__init__(blocks, C)
        self._step = step
        self._w = np.zeros(blocks.dimension)

    def epoch(self) -> None:
        n_blocks = len(self.blocks)
        factor = self._step.factor(n_blocks)
        epochs = self.blocks.epoch(self.epochs, factor)
        direction = self.blocks.sum([epoch.moved.direction for epoch in epochs])
        length = self._step.length
        eta = self._best_step(epochs, direction) if length is None else length(n_blocks)
        self.blocks.step(self.epochs, factor, epochs, eta, self.blocks.send(direction))
        self._w += eta * direction
        self.epochs += 1

    def _best_step(self, epochs: list[BlockEpoch], direction: np.ndarray) -> float:
        sums = [epoch.moved.sums for epoch in epochs]
        linear, products, curvature = (
            math.fsum(getattr(part, name) for part in sums) for name in ("linear", "products", "curvature")
        )
        objective = DualObjective(Penalty(), self.C, 2)
        limit = min(part.max_step for part in sums)
        return objective.best_step(self._w, sparse(direction), linear, products, curvature, limit)

    def point(self) -> Point:
        return summed(self.blocks, self.C)


class OwnProblems(Learning):
    """Each block solves a problem of its own, with K times the C, as if its examples were all; the mean of the w's.

    The mean belongs to the dual variables α / K, which are feasible for the problem of all.
    """

    def epoch(self) -> None:
        epochs = self.blocks.epoch(self.epochs, 1.0)
        self.blocks.step(self.epochs, 1.0, epochs, 1.0, [epoch.moved.direction for epoch in epochs])
        self.epochs += 1

    def point(self) -> Point:
        n_blocks = len(self.blocks)
        parts, linear, squares = self.blocks.dual_sums()
        # As if training ended here: each block sends its weights once.
        self.blocks.up, self.blocks.down = sum(part.nbytes for part in parts), 0
        w = self.blocks.sum(parts) / n_blocks
        return Point(w, linear / n_blocks - float(w @ w) / 2 - squares / (4.0 * self.C * n_blocks**2))


class Mixing(Learning):
    """Iterative parameter mixing: each block's solver runs an epoch from the common w, and the next w is the mean."""

    def __init__(self, blocks: Blocks, C: float) -> None:
        super().__init__(blocks, C)
        self._w = np.zeros(blocks.dimension)
        self._means = np.zeros(blocks.dimension)
        """The sum of the means of w over each epoch."""

    def epoch(self) -> None:
        n_blocks = len(self.blocks)
        epochs = self.blocks.epoch(self.epochs, 1.0)
        self._means += self._w + self.blocks.sum([epoch.moved.mean for epoch in epochs]) / n_blocks
        direction = self.blocks.sum([epoch.moved.direction for epoch in epochs]) / n_blocks
        self.blocks.step(self.epochs, 1.0, epochs, 1.0, self.blocks.send(direction))
        self._w += direction
        self.epochs += 1

    def point(self) -> Point:
        return Point(self._means / self.epochs, None)


@dataclass(frozen=True)
class Rule:
    """A rule by name.

    title: for readers. begin: the rule at work. solver: as in `init-config`. own_problems: whether each block solves a
    problem of its own.
    """

    title: str
    begin: Callable[[Blocks, float], Learning]
    solver: str = "dcd"
    own_problems: bool = False

    def block_C(self, C: float, n_blocks: int) -> float:
        """The C of the blocks' solver, for this C of the objective."""
        return C * n_blocks if self.own_problems else C


def steps(factor: Callable[[int], float], length: Callable[[int], float] | None = None) -> Callable[..., Learning]:
    """Common steps without momentum; arguments as in `Step`."""
    return lambda blocks, C: CommonSteps(blocks, C, Step(factor, length))


RULES = {
    "momentum": Rule("momentum, factor K, step 1 (ours)", Momentum),
    "search": Rule("line search, factor (1 + K) / 2", steps(lambda n_blocks: (1 + n_blocks) / 2)),
    "plain": Rule("line search, factor 1", steps(lambda n_blocks: 1.0)),
    "cocoa+": Rule("CoCoA+: factor K, step 1", steps(float, lambda n_blocks: 1.0)),
    "cocoa": Rule("CoCoA: factor 1, step 1 / K", steps(lambda n_blocks: 1.0, lambda n_blocks: 1.0 / n_blocks)),
    "once": Rule("averaging once, at the end", OwnProblems, own_problems=True),
    "mira": Rule("parameter mixing, MIRA", Mixing, solver="mira"),
    "perceptron": Rule("parameter mixing, perceptron", Mixing, solver="perceptron"),
}
