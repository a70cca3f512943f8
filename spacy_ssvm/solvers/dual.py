"""What the solvers with dual variables of each example share: working sets that grow and lose examples."""

from typing import Any

import numpy as np

from . import dual_variables, working_set
from .certified import CertifiedLearner
from .oracle_check import assert_unbeaten
from .oracle_pass import collect, find_all
from .parameters import Parameters
from .problem import Problem, call


class DualLearner(CertifiedLearner):
    """A learner that keeps planes and dual variables α of each example; s = s₀ + Σ α ΔΦ, with s₀ where it started.

    As written here, w = s.
    """

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)

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

    def _collect(self, examples: np.ndarray, C: float, delta: float) -> None:
        """Call all oracles at the present w; planes that are violated by more than delta join the working sets.

        C: of the L2-loss, ∞ without it.
        """
        for part, found in find_all(self.problem, self.w, examples):
            done = 0
            while True:
                sums = self.loss, self.squares
                done, self.loss, self.squares = collect(part, found, done, C, delta, *sums, self.planes, self.buffer)
                if done == len(part):
                    break
                self._make_room(self.problem)

    def _check_oracle(self) -> None:
        assert_unbeaten(self.problem, self.w, self.planes)

    def _make_room(self, problem: Problem) -> None:
        working_set.make_room(self.planes, problem.n_examples, problem.largest_plane)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._make_room(problem)

    def remove(self, examples: np.ndarray) -> None:
        dual_variables.remove_all(self.planes, examples, self.w)

    def forget(self, examples: np.ndarray) -> None:
        working_set.forget_all(self.planes, examples)
        self.warm = True

    def _dual_sums(self) -> tuple[float, float]:
        return dual_variables.dual_sums(self.planes)

    def _summed(self) -> np.ndarray:
        w = np.zeros_like(self.w)
        dual_variables.weighted_sum(self.planes, w)
        return w

    def _count(self) -> int:
        return working_set.count(self.planes)
