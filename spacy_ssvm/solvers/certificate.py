"""Certificates: primal, dual and gap at one frozen w, and the solvers that are done when the gap is small."""

import math
from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from .learner import Certificate, Learner, Progress
from .oracle_pass import find_all
from .parameters import DualParameters
from .problem import Problem


class Slacks(NamedTuple):
    """Σ_i ξ_i and Σ_i ξ_i² at one w, ξ_i = max_y g_i(y)."""

    sum: float
    squares: float


def slacks(problem: Problem, weights: np.ndarray, examples: np.ndarray | None = None, n_threads: int = 1) -> Slacks:
    """Evaluate the oracles of all examples, or of these (int64), at w, float64 [d]: one pass."""
    chosen = np.arange(problem.n_examples) if examples is None else examples
    found_slacks = (found.slacks.tolist() for _, found in find_all(problem, weights, chosen, n_threads))
    positive = [max(0.0, g) for part in found_slacks for g in part]
    return Slacks(math.fsum(positive), math.fsum(slack * slack for slack in positive))


class CertifiedLearner(Learner):
    """A solver of R(w) + C Σ ξ_i^power, with dual Σ αΔ − R*(Σ α ΔΦ), for power = 2 less Σ_i (Σ_y α_i(y))² / 4C.

    In most solvers R is ½‖w‖², or ½‖w − w₀‖² where training has started from earlier weights w₀.
    """

    parameters: DualParameters
    power: ClassVar[Literal[1, 2]] = 1
    """Of the slacks: 1 for the L1-loss, 2 for the L2-loss."""
    squares = 0.0
    """Σ ξ_i² of the visits since `begin_epoch`; counted where power = 2."""
    has_forgotten: bool
    """Whether w is made of examples that it no longer remembers, so that no objective can be computed."""

    @abstractmethod
    def _dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i (Σ_y α_i(y))²."""

    @abstractmethod
    def _summed(self) -> np.ndarray:
        """w anew from its planes, float64 [d], without the rounding errors of many small steps."""

    @abstractmethod
    def _count(self) -> int:
        """The number of planes with dual variables."""

    @abstractmethod
    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        """R(w), and R*(s) for the s that w belongs to."""

    def progress(self) -> Progress:
        regulariser, conjugate = self._regulariser(self.prediction_weights())
        dual = None if self.has_forgotten else self._dual_objective(conjugate)
        primal = self._primal_objective(regulariser, Slacks(self.loss, self.squares))
        return Progress(self.loss, primal, dual, self._count())

    def certificate(self) -> Certificate | None:
        """Primal and dual at w summed anew from the planes; the learner does not change.

        None where decoding is not exact, or where examples have been forgotten.
        """
        if self.has_forgotten or not self.problem.exact:
            return None
        w = self._summed()
        regulariser, conjugate = self._regulariser(w)
        primal = self._primal_objective(regulariser, slacks(self.problem, w, n_threads=self.n_threads))
        return Certificate(primal, self._dual_objective(conjugate))

    def done(self) -> bool:
        """Whether the gap is within the tolerance: its running estimate first, and only where that is, the true gap."""
        if not self._seems_done(self.progress()):
            return False
        certificate = self.certificate()
        return certificate is not None and certificate.relative_gap <= self.parameters.tolerance

    def _seems_done(self, figures: Progress) -> bool:
        if figures.primal is None or figures.dual is None:
            return False
        return figures.primal - figures.dual <= self.parameters.tolerance * figures.primal

    def _primal_objective(self, regulariser: float, found: Slacks) -> float:
        return regulariser + self.parameters.C * (found.sum if self.power == 1 else found.squares)

    def _dual_objective(self, conjugate: float) -> float:
        linear, squares = self._dual_sums()
        return float(linear - conjugate - (squares / (4 * self.parameters.C) if self.power == 2 else 0.0))
