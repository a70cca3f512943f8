"""What the solvers with dual variables of each example share: working sets that grow and lose examples."""

from typing import Any, ClassVar

import numpy as np

from . import dual_variables, working_set
from .certified import CertifiedLearner
from .oracle_check import assert_unbeaten
from .oracle_pass import collect, find_all
from .parameters import Parameters
from .problem import Problem, call


class DualLearner(CertifiedLearner):
    """A learner that keeps planes and dual variables α of each example; s = s₀ + Σ α ΔΦ, with s₀ where it started.

    As written here, w = s, and the regulariser is ½‖w − w₀‖²: w₀ᵀΔΦ is part of each plane's loss, and w − w₀ is what is
    learnt. For another penalty Ω it is Ω(w) − Ω(w₀) − s₀ᵀ(w − w₀), smallest at w₀ too.
    """

    growing: ClassVar[tuple[str, ...]] = ("planes",)

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.planes = working_set.empty(problem.n_examples)
        self.w0 = None if weights is None else self.w.copy()

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
        self._renumber(working_set.make_room(self.planes, problem.n_examples, problem.max_plane_entries))

    def _renumber(self, place: np.ndarray) -> None:
        """The planes have moved, plane p to place[p]."""
        return None

    def retune(self, parameters: Any) -> bool:
        """The dual variables stay, scaled to what the new C allows."""
        if self.uncertified:
            return False
        alpha = self.planes.alpha
        alpha *= self._kept(parameters)
        self.parameters = parameters
        self.w = self._dual_sum()
        return True

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self.w0 = None if self.w0 is None else self.grown(self.w0)
        self._make_room(problem)

    def compact(self) -> None:
        self._renumber(working_set.trim(self.planes))

    def check(self) -> None:
        working_set.check(self.planes, self.problem.n_examples, self.problem.dimension)

    def remove(self, examples: np.ndarray) -> None:
        dual_variables.remove_all(self.planes, examples, self.w)

    def forget(self, examples: np.ndarray) -> None:
        working_set.forget_all(self.planes, examples)
        self.uncertified = True

    def _dual_sums(self) -> tuple[float, float]:
        return dual_variables.dual_sums(self.planes)

    def _summed(self) -> np.ndarray:
        return self._dual_sum()

    def _dual_sum(self) -> np.ndarray:
        """s = s₀ + Σ α ΔΦ, float64 [d]."""
        s = np.zeros_like(self.w) if self.w0 is None else self._dual_point(self.w0)
        dual_variables.weighted_sum(self.planes, s)
        return s

    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        penalty, conjugate = self._penalty(w)
        if self.w0 is None:
            return penalty, conjugate
        at_start = self._penalty(self.w0)[1]
        return penalty + at_start - float(self._dual_point(self.w0) @ w), conjugate - at_start

    def _penalty(self, w: np.ndarray) -> tuple[float, float]:
        """Ω(w), and Ω*(s) of the s that w belongs to."""
        norm = float(w @ w) / 2
        return norm, norm

    def _dual_point(self, w: np.ndarray) -> np.ndarray:
        """An s that w belongs to, float64 [d], a copy."""
        return w.copy()

    def _count(self) -> int:
        return working_set.count(self.planes)
