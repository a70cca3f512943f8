"""What the solvers with a duality gap share, whatever they keep their dual variables in."""

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from .certificate import Certificate, Slacks, slacks
from .learner import Learner, Progress
from .parameters import DualParameters, Parameters
from .problem import Problem


class CertifiedLearner(Learner):
    """R(w) + C Σ ξ_i^power with dual Σ αΔ − R*(Σ α ΔΦ), for power = 2 less Σ_i (Σ_y α_i(y))² / 4C.

    R is ½‖w‖² in most of them, and ½‖w − w₀‖² where training has started from earlier weights w₀.
    """

    parameters: DualParameters
    power: ClassVar[Literal[1, 2]] = 1
    """Of the slacks: 1 for the L1-loss, 2 for the L2-loss."""

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self.squares = 0.0

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self.squares = 0.0
        if self.parameters.check_oracle:
            self._check_oracle()

    @abstractmethod
    def _check_oracle(self) -> None:
        """Assert at the present w that no plane found so far beats the oracle.

        Raises:
            AssertionError: one does.
        """

    @abstractmethod
    def _dual_sums(self) -> tuple[float, float]:
        """Σ αΔ and Σ_i (Σ_y α_i(y))²."""

    @abstractmethod
    def _summed(self) -> np.ndarray:
        """w anew from its planes, float64 [d]: what it is up to the rounding errors of many small steps."""

    @abstractmethod
    def _count(self) -> int:
        """The number of planes with dual variables."""

    def _kept(self, parameters: DualParameters) -> float:
        """The share of all dual variables that is feasible with the C of these parameters, too."""
        return min(1.0, parameters.C / self.parameters.C)

    def progress(self) -> Progress:
        regulariser, conjugate = self._regulariser(self.prediction_weights())
        dual = None if self.uncertified else self._dual_objective(conjugate)
        primal = self._primal_objective(regulariser, Slacks(self.loss, self.squares))
        return Progress(self.loss, primal, dual, self._count())

    def certificate(self) -> Certificate | None:
        """At w summed anew from the planes; asking changes nothing. None where decoding is not exact."""
        if self.uncertified or not self.problem.exact:
            return None
        w = self._summed()
        regulariser, conjugate = self._regulariser(w)
        primal = self._primal_objective(regulariser, slacks(self.problem, w))
        return Certificate(primal, self._dual_objective(conjugate))

    def done(self) -> bool:
        """The running estimate of the gap first, and only where that is small the true gap."""
        if not self._seems_done(self.progress()):
            return False
        certificate = self.certificate()
        return certificate is not None and certificate.relative_gap <= self.parameters.tolerance

    def _seems_done(self, figures: Progress) -> bool:
        if figures.primal is None or figures.dual is None:
            return False
        return figures.primal - figures.dual <= self.parameters.tolerance * figures.primal

    @abstractmethod
    def _regulariser(self, w: np.ndarray) -> tuple[float, float]:
        """R at w, and what the dual objective has in its place: R* where w is its gradient."""

    def _primal_objective(self, regulariser: float, found: Slacks) -> float:
        return regulariser + self.parameters.C * (found.sum if self.power == 1 else found.squares)

    def _dual_objective(self, conjugate: float) -> float:
        linear, squares = self._dual_sums()
        return float(linear - conjugate - (squares / (4 * self.parameters.C) if self.power == 2 else 0.0))
