"""What the cutting-plane solvers share: an epoch calls all oracles at one w, and its end solves for the next."""

from abc import abstractmethod

import numpy as np

from .certified import CertifiedLearner
from .learner import Progress
from .parameters import Parameters
from .problem import Problem

REDUCTION = 0.3
"""The problem that the planes make is solved until its own duality gap is this share of what the new planes left."""


class BatchLearner(CertifiedLearner):
    """A learner that moves w at the end of an epoch only, so that its primal objective is no estimate.

    An epoch that has found w good enough leaves it there: the primal objective of a cutting-plane solver need not fall.
    """

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._rng = np.random.default_rng(parameters.seed)
        self._primal: float | None = None
        self._visits = 0
        """Since w last moved."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._rng, self._primal, self._visits = rng, None, 0

    def visit(self, examples: np.ndarray) -> None:
        self._find(examples)
        self._visits += len(examples)

    def end_epoch(self) -> None:
        figures = self.progress()
        self._primal = figures.primal
        if self._visits < self.problem.n_examples or not self._seems_done(figures):
            self._solve(self._rng)

    def progress(self) -> Progress:
        """The primal objective is that of the w at which the epoch has called the oracles."""
        figures = super().progress()
        return figures if self._primal is None else figures._replace(primal=self._primal)

    def remove(self, examples: np.ndarray) -> None:
        super().remove(examples)
        self._visits = 0

    @abstractmethod
    def _find(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), and keep what it finds."""

    @abstractmethod
    def _solve(self, rng: np.random.Generator) -> None:
        """Move the dual variables, and w with them, to where the planes found so far want them."""
