"""Certificates: primal, dual and gap at one fixed w; the base classes of the solvers that have them.

A certified solver is done when its gap is small. A batch solver calls all oracles at one w, then solves for the next w.
"""

import math
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..growth import extended
from .learner import Certificate, Field, Learner, Progress
from .oracle_pass import find_violations
from .parameters import DualParameters, Parameters
from .problem import Problem

GAP_ROUNDING = 1e-5
"""A relative gap below −GAP_ROUNDING is not due to rounding; means of planes are kept in single precision."""


class Slacks(NamedTuple):
    """Σ_i ξ_i and Σ_i ξ_i² at one w, ξ_i = max_y g_i(y)."""

    sum: float
    squares: float


def slacks(problem: Problem, weights: np.ndarray, examples: np.ndarray | None = None, n_threads: int = 1) -> Slacks:
    """Call the oracles of all examples, or of the given ones (int64), at w, float64 [d]: one pass."""
    if problem.passes is not None:
        return Slacks(*problem.passes.slacks(weights))
    numbers = np.arange(problem.n_examples) if examples is None else examples
    positive = np.maximum(find_violations(problem, weights, numbers, n_threads), 0.0).tolist()
    return Slacks(math.fsum(positive), math.fsum(slack * slack for slack in positive))


class CertifiedLearner(Learner):
    """A solver of R(w) + C Σ ξ_i^power, with dual Σ αΔ − R*(Σ α ΔΦ), for power = 2 less Σ_i (Σ_y α_i(y))² / 4C.

    In most solvers R is ½‖w‖², or ½‖w − w₀‖² where training started from earlier weights w₀.
    """

    parameters: DualParameters
    power: ClassVar[Literal[1, 2]] = 1
    """The power of the slacks: 1 for the L1-loss, 2 for the L2-loss."""
    squares = 0.0
    """Σ ξ_i² of the visits since `begin_epoch`; used where power = 2."""
    has_forgotten: bool
    """Whether w includes contributions of forgotten examples, so that no objective can be computed."""

    @abstractmethod
    def _dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i (Σ_y α_i(y))²."""

    @abstractmethod
    def _summed(self) -> np.ndarray:
        """w recomputed from its planes, float64 [d], without the rounding errors of many small steps."""

    @abstractmethod
    def _count(self) -> int:
        """The number of planes with dual variables."""

    @abstractmethod
    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        """R(w), and R*(s) for the dual point s that w belongs to."""

    def progress(self) -> Progress:
        regulariser, conjugate = self._regulariser(self.prediction_weights())
        dual = None if self.has_forgotten else self._dual_objective(conjugate)
        primal = self._primal_objective(regulariser, Slacks(self.loss, self.squares))
        return Progress(self.loss, primal, dual, self._count())

    def certificate(self) -> Certificate | None:
        """Primal and dual at w as recomputed from the planes; the learner does not change.

        None where decoding is not exact, or after examples have been forgotten.
        """
        if self.has_forgotten or not self.problem.exact:
            return None
        w = self._summed()
        regulariser, conjugate = self._regulariser(w)
        primal = self._primal_objective(regulariser, slacks(self.problem, w, n_threads=self.n_threads))
        return Certificate(primal, self._dual_objective(conjugate))

    def done(self) -> bool:
        """Whether the gap is within the tolerance: the true gap is computed only where its running estimate is.

        Warns, and is not done, if the dual exceeds the primal by more than rounding.
        """
        if not self._seems_done(self.progress()):
            return False
        certificate = self.certificate()
        if certificate is None:
            return False
        if certificate.relative_gap < -GAP_ROUNDING:
            warnings.warn(
                f"the dual objective, {certificate.dual:.8g}, exceeds the primal, {certificate.primal:.8g}: an oracle "
                "is not exact, or the solver's state is damaged; solver.check_oracle = true tests the oracles",
                stacklevel=2,
            )
            return False
        return certificate.relative_gap <= self.parameters.tolerance

    def _seems_done(self, figures: Progress) -> bool:
        # With a tolerance of 0, which is never reached, the dual may exceed the primal by rounding.
        if figures.primal is None or figures.dual is None or not self.parameters.tolerance:
            return False
        return figures.primal - figures.dual <= self.parameters.tolerance * figures.primal

    def _primal_objective(self, regulariser: float, slack_sums: Slacks) -> float:
        return regulariser + self.parameters.C * (slack_sums.sum if self.power == 1 else slack_sums.squares)

    def _dual_objective(self, conjugate: float) -> float:
        linear, squares = self._dual_sums()
        return float(linear - conjugate - (squares / (4 * self.parameters.C) if self.power == 2 else 0.0))


GAP_REDUCTION = 0.3
"""The problem over the planes is solved until its gap is this fraction of the gap that the new planes caused."""


class BatchLearner(CertifiedLearner):
    """A learner that moves w at the end of an epoch only, so that its primal objective is exact.

    An epoch that finds the gap within the tolerance does not move w: a step of a cutting-plane solver may raise the
    primal objective.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("primal", like="loss"), Field("visits"))

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._rng = parameters.generator()
        self.primal: float | None = None
        self.visits = 0
        """The number of examples visited since w last moved."""
        self._visited = np.zeros(problem.n_examples, np.bool_)
        """Which examples these are; not part of the state, so a restored learner knows only its own visits."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._rng, self.primal = rng, None
        self._start_visits()

    def visit(self, examples: np.ndarray) -> None:
        """Examples visited earlier in the epoch are skipped: at the same w there is nothing new to find."""
        first_places = np.sort(np.unique(examples, return_index=True)[1])
        new = examples[first_places]
        new = new[~self._visited[new]]
        self._find(new)
        self._visited[new] = True
        self.visits += len(new)

    def _start_visits(self) -> None:
        self.visits = 0
        self._visited = np.zeros(self.problem.n_examples, np.bool_)

    def end_epoch(self) -> None:
        figures = self.progress()
        self.primal = figures.primal
        # Without exact oracles the estimate bounds nothing, and such a solver is never done.
        is_solved = self.visits >= self.problem.n_examples and self.problem.exact and self._seems_done(figures)
        if not is_solved:
            self._solve(self._rng)
        self._visited[:] = False

    def progress(self) -> Progress:
        """The primal objective is that of the w at which the epoch called the oracles."""
        figures = super().progress()
        return figures if self.primal is None else figures._replace(primal=self.primal)

    def extend(self, problem: Problem) -> None:
        super().extend(problem)
        self._visited = extended(self._visited[: problem.n_examples], problem.n_examples)

    def remove(self, examples: np.ndarray) -> None:
        super().remove(examples)
        self._start_visits()

    def forget(self, examples: np.ndarray) -> None:
        super().forget(examples)
        self._visited[examples] = False

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        super().restore(state, rng)
        self._rng = rng

    @abstractmethod
    def _find(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), and keep the planes."""

    @abstractmethod
    def _solve(self, rng: np.random.Generator) -> None:
        """Move the dual variables, and w with them, towards the optimum over the planes found so far."""
