"""What the solvers with dual variables share: working sets that grow, are re-summed, and lose examples."""

from typing import Any

import numpy as np

from . import working_set
from .learner import Learner
from .parameters import DualParameters, Parameters
from .problem import Problem, call


class DualLearner(Learner):
    """A learner that keeps planes and dual variables α of each example; s = s₀ + Σ α ΔΦ, with s₀ where it started."""

    parameters: DualParameters

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self.squares = 0.0

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.squares = 0.0

    def _visit_all(self, dispatcher: Any, examples: np.ndarray, *arguments: Any) -> None:
        """Run a kernel that returns (visited, loss, squares) and stops where the working set is full."""
        visited = 0
        while True:
            done, loss, squares = call(
                dispatcher, self.problem, examples[visited:], *arguments, self.planes, self.buffer
            )
            visited += done
            self.loss += loss
            self.squares += squares
            if visited == len(examples):
                return
            self._make_room(self.problem)

    def _make_room(self, problem: Problem) -> None:
        self.planes = working_set.with_room(self.planes, problem.n_examples, problem.largest_plane)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._make_room(problem)

    def forget(self, examples: np.ndarray) -> None:
        working_set.forget_all(self.planes, examples)
        self.warm = True

    def done(self) -> bool:
        """The running estimate of the gap first, and only where that is small the true gap."""
        figures = self.progress()
        tolerance = self.parameters.tolerance
        if figures.primal is None or figures.dual is None or figures.primal - figures.dual > tolerance * figures.primal:
            return False
        certificate = self.certificate()
        return certificate is not None and certificate.relative_gap <= tolerance
