"""Steps of the dual variables of all blocks, of a common length.

They have momentum (Nesterov 1983), which begins anew when the dual objective falls (O'Donoghue & Candès 2015).
"""

import math
from typing import Any

import numpy as np

from ..solvers.block_kinds import kind_of_block
from ..solvers.blocks import EpochResult, EpochSettings
from ..solvers.dual_block import DualBlock
from ..solvers.dual_step import dual_objective
from ..solvers.learner import Certificate, Progress
from ..solvers.parameters import DualParameters
from ..solvers.sparse import SparseVector, difference, sparse
from ..solvers.state import plain
from .common_steps import CommonSteps, Step
from .shared_blocks import SharedBlocks

SUMMED = ("loss", "squares", "linear_before", "squares_before", "linear", "products", "curvature")
"""The figures of blocks that are summed for a step."""


class DualSteps(CommonSteps):
    """α ← α + ηΔα, for solvers of dual variables (Lee, Chang, Upadhyay & Roth 2015).

    With momentum, the factor is K, the number of blocks, and there is no search: with the safe bound of CoCoA+ (Ma et
    al. 2015), a step of length 1 does not lower the dual objective. Without momentum, η is the one that raises the dual
    objective most, and the factor is the mean of 1, where other blocks do nothing, and K, where they do the same.
    """

    def __init__(self, parameters: DualParameters, blocks: SharedBlocks) -> None:
        super().__init__(parameters, blocks)
        self._objective = dual_objective(parameters)
        kind = kind_of_block(parameters)
        assert issubclass(kind, DualBlock)
        self._has_momentum = kind.has_momentum and blocks.n_blocks > 1
        self._pace = EpochSettings(blocks.n_blocks if self._has_momentum else (1.0 + blocks.n_blocks) / 2.0)
        self._point = np.zeros_like(self.common)
        """The dual point of the weights: the common vector without momentum, float64 [d]."""
        self._after = np.zeros_like(self.common)
        """Where momentum goes, float64 [d]; of no more use after an epoch."""
        self._dual = -np.inf
        """The dual objective after the last epoch."""
        self._time = 1.0
        """Nesterov's t, from which momentum follows."""

    def moved(self, found: list[EpochResult], step: Step) -> tuple[Step, Progress]:
        parts, objective, point = [message.sums for message in found], self._objective, self._point
        sums = {name: math.fsum(getattr(part, name) for part in parts) for name in SUMMED}
        point[:] = self.common
        self.blocks.add([message.removed for message in found], point)
        primal = objective.primal(self.weights(), sums["loss"], sums["squares"])
        eta, directions = 1.0, [message.direction for message in found]
        if self._has_momentum:
            self.blocks.add(directions, point)
        else:
            direction = self.blocks.sum(directions)
            along = sums["linear"], sums["products"], sums["curvature"]
            eta = objective.best_step(point, direction, *along, min(part.max_step for part in parts))
            direction.add_to(point, eta)
        linear = sums["linear_before"] + eta * sums["linear"]
        squares = sums["squares_before"] + 2.0 * eta * sums["products"] + eta * eta * sums["curvature"]
        dual = objective.dual(self.weights(), linear, squares)
        after, with_momentum = point, self._has_momentum and dual >= self._dual
        if with_momentum:
            after = self._after
            after[:] = point
            self.blocks.add([message.ahead for message in found], after)
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
        return {**super().state(), "time": self._time, "dual": self._dual, "point": plain(sparse(self._point))}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._time, self._dual = state["time"], state["dual"]
        self._point = SparseVector(**state["point"]).dense(len(self.common))

    def weights(self) -> np.ndarray:
        return self._objective.penalty.weights(self._point)

    def certificate(self) -> Certificate | None:
        """At w as summed up from all planes.

        None where decoding is not exact, or gold is incomplete. Blocks that have begun an epoch end it first.
        """
        if not self.blocks.is_certified:
            return None
        self.step()
        self.wait()
        found = self.blocks.all("dual_sum")
        point = np.zeros_like(self.common)
        self.blocks.add([part for part, _ in found], point)
        linear, squares = (math.fsum(sums[k] for _, sums in found) for k in range(2))
        change = difference(point, self.common)
        slacks = self.blocks.all("slacks", [(part,) for part in self.blocks.parts(change)])
        w = self._objective.penalty.weights(point)
        totals = [math.fsum(part[k] for part in slacks) for k in range(2)]
        return Certificate(self._objective.primal(w, *totals), self._objective.dual(w, linear, squares))


def _next_time(time: float) -> float:
    return (1.0 + math.sqrt(1.0 + 4.0 * time * time)) / 2.0
