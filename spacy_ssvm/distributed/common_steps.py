"""Epochs of all blocks from a common vector, then one common step: by a line search on the dual, or to the mean."""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from ..solvers.blocks import expected_factor
from ..solvers.certificate import GAP_ROUNDING
from ..solvers.dual_step import dual_objective
from ..solvers.learner import Certificate, Progress
from ..solvers.parameters import DualParameters, Parameters
from ..training.figures import Figures
from .messages import Message
from .shared_blocks import SharedBlocks

SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step of dual variables."""


class Step(NamedTuple):
    """What is added to the common vector: removed + η · direction.

    removed: what planes that are void take with them, float64 [d], or None.
    """

    eta: float
    direction: np.ndarray
    removed: np.ndarray | None = None


class CommonSteps(ABC):
    """An epoch of each block from the common vector, float64 [d], then one step of all."""

    def __init__(self, parameters: Any, blocks: SharedBlocks) -> None:
        self.parameters = parameters
        self.blocks = blocks
        self.common = np.zeros(blocks.weights.dimension)
        self._number = 0
        self._digests: list[bytes] = []
        self._step = Step(0.0, np.zeros(0))
        """The last step, the epoch that it belongs to, and digests of what the blocks have moved in it."""

    def epoch(self, number: int) -> Progress:
        """Epoch `number`, from 0, of all blocks; `step` has to follow."""
        found: list[Message] = self.blocks.all("epoch", self._settings(number))
        self._number, self._digests = number, [message.digest() for message in found]
        self._step, progress = self._decided(found)
        if self._step.removed is not None:
            self.common += self._step.removed
        self.common += self._step.eta * self._step.direction
        return progress

    def step(self) -> None:
        """Let all blocks take the step of the last epoch; those that have taken it do nothing."""
        eta, direction, removed = self._step
        parts = zip(
            self._settings(self._number), self._digests, self.blocks.parts(removed), self.blocks.parts(direction)
        )
        self.blocks.all("step", [(*settings, digest, eta, *vectors) for settings, digest, *vectors in parts])

    @abstractmethod
    def _decided(self, found: list[Message]) -> tuple[Step, Progress]:
        """The step to take, and figures of the epoch, given what the blocks have moved."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w; None where the rule has no certificate."""
        return None

    def is_done(self, figures: Figures) -> bool:
        """Whether the solver has reached its tolerance, after an epoch with these figures."""
        return False

    def state(self) -> dict[str, Any]:
        """What `restore` takes, after `epoch`."""
        return {
            "common": self.common,
            "number": self._number,
            "digests": self._digests,
            **self._step._asdict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state; `step` has to follow."""
        self.common, self._number, self._digests = state["common"], state["number"], state["digests"]
        self._step = Step(state["eta"], state["direction"], state["removed"])

    def _settings(self, number: int) -> list[tuple[Any, ...]]:
        """Of each block's epoch, whichever worker runs it: its number, its seed, and its factor."""
        factor = expected_factor(len(self.blocks))
        return [(number, (self.parameters.seed or 0, number, block), factor) for block in range(len(self.blocks))]


class DualSteps(CommonSteps):
    """α ← α + ηΔα with the best η, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015)."""

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._objective = dual_objective(parameters)

    def _decided(self, found: list[Message]) -> tuple[Step, Progress]:
        parts = [message.sums for message in found]
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        direction = self.blocks.sum([message.direction for message in found])
        if any(len(message.removed.indices) for message in found):
            removed = self.blocks.sum([message.removed for message in found])
            point = self.common + removed
        else:
            removed, point = None, self.common
        primal = self._objective.primal(self._objective.penalty.weights(point), sums["loss"], sums["squares"])
        products, curvature = sums["products"], sums["curvature"]
        limit = min(part.max_step for part in parts)
        eta = self._objective.best_step(point, direction, sums["linear"], products, curvature, limit)
        w = self._objective.penalty.weights(point + eta * direction)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * products + eta * eta * curvature
        dual = self._objective.dual(w, linear, squares)
        progress = Progress(sums["loss"], primal, dual, sum(part.planes for part in parts))
        return Step(eta, direction, removed), progress

    def weights(self) -> np.ndarray:
        return self._objective.penalty.weights(self.common)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, gold is incomplete, or a worker has failed.
        """
        if not self.blocks.is_certified or self.blocks.has_failed:
            return None
        found = self.blocks.all("dual_sum")
        point = self.blocks.sum([part for part, _ in found])
        linear, squares = (math.fsum(sums[k] for _, sums in found) for k in range(2))
        slacks = self.blocks.all("slacks", [(part,) for part in self.blocks.parts(point - self.common)])
        w = self._objective.penalty.weights(point)
        totals = [math.fsum(part[k] for part in slacks) for k in range(2)]
        return Certificate(self._objective.primal(w, *totals), self._objective.dual(w, linear, squares))

    def is_done(self, figures: Figures) -> bool:
        """As `CertifiedLearner.done`."""
        tolerance, primal, dual = self.parameters.tolerance, figures.primal, figures.dual
        assert primal is not None and dual is not None
        if not tolerance or primal - dual > tolerance * primal:
            return False
        certificate = self.certificate()
        return certificate is not None and -GAP_ROUNDING <= certificate.relative_gap <= tolerance


class Mixing(CommonSteps):
    """The mean of all blocks' w: iterative parameter mixing, for averaged solvers (McDonald, Hall & Mann 2010)."""

    def __init__(self, parameters: Parameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._means = np.zeros_like(self.common)
        """The sum of the means of w over each epoch."""
        self._epochs = 0

    def _decided(self, found: list[Message]) -> tuple[Step, Progress]:
        n_blocks = len(self.blocks)
        self._means += self.common + self.blocks.sum([message.mean for message in found]) / n_blocks
        self._epochs += 1
        step = Step(1.0, self.blocks.sum([message.direction for message in found]) / n_blocks)
        return step, Progress(math.fsum(message.sums.loss for message in found), None, None, None)

    def weights(self) -> np.ndarray:
        return self._means / max(self._epochs, 1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "means": self._means, "epochs": self._epochs}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._means, self._epochs = state["means"], state["epochs"]
