"""Steps of the dual variables of all blocks, of a common length: the one that raises the dual objective most.

They have momentum (Nesterov 1983), which begins anew when the dual objective falls (O'Donoghue & Candès 2015).
"""

import math
from typing import Any

import numpy as np

from ..solvers.blocks import Moved, Pace, kind_of_block
from ..solvers.dual_block import DualBlock
from ..solvers.dual_step import dual_objective
from ..solvers.learner import Certificate, Progress
from ..solvers.parameters import DualParameters
from ..solvers.sparse import NOTHING, Sparse, difference, sparse
from .common_steps import CommonSteps
from .shared_blocks import SharedBlocks

SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step."""


class DualSteps(CommonSteps):
    """α ← α + ηΔα with the best η, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015).

    With momentum, the factor is K, the number of blocks: with the safe bound of CoCoA+ (Ma et al. 2015) no step lowers
    the dual objective. Without, it is the mean of 1, where other blocks do nothing, and K, where they do the same.
    """

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._objective = dual_objective(parameters)
        kind = kind_of_block(parameters)
        assert issubclass(kind, DualBlock)
        self._has_momentum = kind.has_momentum and blocks.n_blocks > 1
        self._pace = Pace(blocks.n_blocks if self._has_momentum else (1.0 + blocks.n_blocks) / 2.0)
        self._dual = -np.inf
        """The dual objective after the last epoch."""
        self._time = 1.0
        """Nesterov's t, from which momentum follows."""
        self._move = NOTHING
        """How far the last step has moved the common vector."""

    def _move_along(self, found: list[Moved], corrected: Sparse, direction: Sparse) -> tuple[float, Progress]:
        before = self.common.copy()
        self._move.add_to(self.common, self._pace.momentum)
        corrected.add_to(self.common)
        parts = [message.sums for message in found]
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        primal = self._objective.primal(self.weights(), sums["loss"], sums["squares"])
        along = sums["linear"], sums["products"], sums["curvature"]
        eta = self._objective.best_step(self.common, direction, *along, min(part.max_step for part in parts))
        direction.add_to(self.common, eta)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * sums["products"] + eta * eta * sums["curvature"]
        dual = self._objective.dual(self.weights(), linear, squares)
        self._move = difference(self.common, before)
        self._gain_momentum(dual, any(part.n_void for part in parts))
        return eta, Progress(sums["loss"], primal, dual, sum(part.planes for part in parts))

    def _gain_momentum(self, dual: float, has_new_problem: bool) -> None:
        """Set the momentum of the next epoch, given the dual objective after this one."""
        if self._has_momentum:
            time = 1.0 if dual < self._dual or has_new_problem else self._time
            self._time = (1.0 + math.sqrt(1.0 + 4.0 * time * time)) / 2.0
            self._pace = self._pace._replace(momentum=(time - 1.0) / self._time)
        self._dual = dual

    def state(self) -> dict[str, Any]:
        return {**super().state(), "time": self._time, "dual": self._dual}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._time, self._dual = state["time"], state["dual"]

    def _place(self, vectors: list[tuple[Sparse, ...]]) -> None:
        super()._place(vectors)
        self._move = sparse(self.blocks.joined([move for _, move in vectors]))

    def weights(self) -> np.ndarray:
        return self._objective.penalty.weights(self.common)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, or gold is incomplete. Blocks that have begun an epoch end it first.
        """
        if not self.blocks.is_certified:
            return None
        self.step()
        self.wait()
        found = self.blocks.all("dual_sum")
        point = self.blocks.sum([part for part, _ in found]).dense(len(self.common))
        linear, squares = (math.fsum(sums[k] for _, sums in found) for k in range(2))
        change = difference(point, self.common)
        slacks = self.blocks.all("slacks", [(part,) for part in self.blocks.parts(change)])
        w = self._objective.penalty.weights(point)
        totals = [math.fsum(part[k] for part in slacks) for k in range(2)]
        return Certificate(self._objective.primal(w, *totals), self._objective.dual(w, linear, squares))
