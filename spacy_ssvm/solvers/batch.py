"""The base of the cutting-plane solvers: an epoch calls all oracles at one w, and its end solves for the next w."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from .certificate import CertifiedLearner
from .learner import Progress
from .parameters import Parameters
from .problem import Problem
from .state import Field

REDUCTION = 0.3
"""The problem over the planes is solved until its own duality gap is this share of the gap that the new planes left."""


class BatchLearner(CertifiedLearner):
    """A learner that moves w at the end of an epoch only, so that its primal objective is no estimate.

    An epoch that has found w good enough leaves it there: the primal objective of a cutting-plane solver need not fall.
    """

    STATE: ClassVar[tuple[Field, ...]] = (Field("primal", like="loss"), Field("visits"))

    def __init__(self, parameters: Parameters, problem: Problem, weights: np.ndarray | None = None) -> None:
        super().__init__(parameters, problem, weights)
        self._rng = np.random.default_rng(parameters.seed)
        self.primal: float | None = None
        self.visits = 0
        """Since w last moved."""

    def begin_epoch(self, rng: np.random.Generator) -> None:
        super().begin_epoch(rng)
        self._rng, self.primal, self.visits = rng, None, 0

    def visit(self, examples: np.ndarray) -> None:
        self._find(examples)
        self.visits += len(examples)

    def end_epoch(self) -> None:
        figures = self.progress()
        self.primal = figures.primal
        if self.visits < self.problem.n_examples or not self._seems_done(figures):
            self._solve(self._rng)

    def progress(self) -> Progress:
        """The primal objective is that of the w at which the epoch has called the oracles."""
        figures = super().progress()
        return figures if self.primal is None else figures._replace(primal=self.primal)

    def remove(self, examples: np.ndarray) -> None:
        super().remove(examples)
        self.visits = 0

    def restore(self, state: dict[str, Any], rng: np.random.Generator) -> None:
        super().restore(state, rng)
        self._rng = rng

    @abstractmethod
    def _find(self, examples: np.ndarray) -> None:
        """Call the oracle of each of these examples (int64), and keep the planes."""

    @abstractmethod
    def _solve(self, rng: np.random.Generator) -> None:
        """Move the dual variables, and w with them, to the optimum over the planes found so far."""
