"""Epochs that move w at their end only, so that the primal objective of their oracle calls is exact."""

import numpy as np

from ..growth import extended
from .certificate import seems_done
from .learner import Progress
from .problem import Problem
from .state import Field


class BatchEpoch:
    """Epochs that move w at their end only, so that the primal objective of their oracle calls is exact.

    It knows the examples that were visited since w last moved, and the primal objective at this w.

    A solver skips examples that it has visited at the same w: there is nothing new to find.

    Args:
        n_examples: n.
    """

    STATE = (Field("primal", of="batch", like="loss"), Field("visits", of="batch"))
    """The fields of a learner with this in its attribute `batch`."""

    def __init__(self, n_examples: int) -> None:
        self.primal: float | None = None
        """The primal objective at the w of the last finished epoch's oracle calls; None during an epoch."""
        self.visits = 0
        """The number of examples visited since w last moved."""
        self._visited = np.zeros(n_examples, np.bool_)
        """Which examples these are; not part of the state, so a restored learner knows only its own visits."""

    def begin_epoch(self) -> None:
        """Start an epoch: no example has been visited."""
        self.primal, self.visits = None, 0
        self._visited[:] = False

    def new(self, examples: np.ndarray) -> np.ndarray:
        """Mark these examples, int64, as visited; returns the ones not visited before, each once."""
        first_places = np.sort(np.unique(examples, return_index=True)[1])
        new = examples[first_places]
        new = new[~self._visited[new]]
        self._visited[new] = True
        self.visits += len(new)
        return new

    def end_epoch(self, figures: Progress, problem: Problem, tolerance: float) -> bool:
        """End an epoch with these figures; whether the problem is solved, so that w should not move.

        A step of a cutting-plane solver may raise the primal objective.
        """
        self.primal = figures.primal
        self._visited[:] = False
        # Without exact oracles the estimate bounds nothing, and such a solver is never done.
        return self.visits >= problem.n_examples and problem.exact and seems_done(figures, tolerance)

    def exact(self, figures: Progress) -> Progress:
        """Figures with the primal objective of the w at which the epoch called the oracles."""
        return figures if self.primal is None else figures._replace(primal=self.primal)

    def change(self, n_examples: int, dropped: np.ndarray, subtracts: bool) -> None:
        """Forget visits to these examples, int64, or all visits if their contributions are subtracted from w."""
        self._visited[dropped] = False
        if subtracts and len(dropped):
            self.visits = 0
            self._visited[:] = False
        self._visited = extended(self._visited[:n_examples], n_examples)
