"""The learning of one component from the blocks of several workers, in place of a `training.Training`."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..models.protocol import DataSet
from ..solvers.certificate import GAP_ROUNDING
from ..solvers.learner import Certificate
from ..training.examples import EncodedExamples
from ..training.recognition import Marks
from ..training.trainer import Figures
from .rules.rule import Driver
from .shared_blocks import SharedBlocks

LOGGER = logging.getLogger("spacy")


class SharedTraining:
    """A component's training whose examples lie with workers: an update is an epoch of all of them.

    Workers begin the next epoch while the driver evaluates this one.

    Args:
        parameters: of the solver.
        data: without Docs, with the features of all blocks.
        rule: how they learn.
        blocks: of all workers.
        save: keeps a state for `restore`, after each epoch.
        max_epochs: the max number of epochs.
    """

    gets_parts = False

    def __init__(
        self,
        parameters: Any,
        data: DataSet,
        rule: Driver,
        blocks: SharedBlocks,
        save: Callable[[dict[str, Any]], None],
        max_epochs: float = math.inf,
    ) -> None:
        self.parameters = parameters
        self.data = data
        self.figures: Figures | None = None
        self.epochs = 0
        self.finished = False
        self.rule = rule
        self.blocks = blocks
        self._save = save
        self.max_epochs = max_epochs
        self.together: Sequence[SharedTraining] = [self]
        """The trainings of all components: workers begin the first epochs of all of them when one is updated."""

    def __len__(self) -> int:
        return self.blocks.n_examples

    def knows(self, reference: Doc, marks: Marks) -> bool:
        """All examples lie with workers."""
        return True

    def update(self, encoded: EncodedExamples | None) -> float:
        """Learn for an epoch, regardless of the batch. Returns the sum of the losses."""
        if self.finished:
            return 0.0
        for training in self.together:
            training.begin()
        progress = self.rule.epoch(self.epochs)
        self.epochs += 1
        self.figures = Figures(self.epochs, *progress, int(np.count_nonzero(self.rule.weights())))
        # Before workers take the step: one that is lost, and the driver too, can then repeat it.
        self._save({"figures": list(self.figures), "rule": self.rule.state()})
        name = self.blocks.component
        LOGGER.debug("[%s] %s, %s bytes sent", name, self.figures, f"{self.blocks.n_bytes:,}")
        self.finished = self._is_done(self.figures)
        if self.finished:
            LOGGER.info("[%s] converged: the duality gap is within the tolerance; further updates change nothing", name)
        self.begin()
        return self.figures.loss

    def learn(self) -> float:
        """Nothing: `update` has learnt."""
        return 0.0

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d]."""
        return self.rule.weights()

    def has_state(self) -> bool:
        """No: workers keep the state of the solver."""
        return False

    def state(self) -> None:
        """None: workers keep the state of the solver."""

    def certificate(self) -> Certificate | None:
        """Primal and dual at w, as the rule finds them; None if a worker has failed, too."""
        # All components have the same workers.
        has_failed = any(training.blocks.has_failed for training in self.together)
        return None if has_failed else self.rule.certificate()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue after the epoch that a state was saved after."""
        self.figures = Figures(*state["figures"])
        self.epochs = self.figures.epoch
        self.rule.restore(state["rule"])
        self.finished = self._is_done(self.figures)

    def begin(self) -> None:
        """Let workers begin the next epoch, if there is one that they have not begun."""
        if not self.finished and self.epochs < self.max_epochs:
            self.rule.begin(self.epochs)

    def _is_done(self, figures: Figures) -> bool:
        """Whether training is complete, as `certificate.is_done`, from what `restore` knows, too."""
        tolerance, primal, dual = getattr(self.parameters, "tolerance", 0.0), figures.primal, figures.dual
        if primal is None or dual is None or not tolerance or primal - dual > tolerance * abs(primal):
            return False
        certificate = self.certificate()
        return certificate is not None and -GAP_ROUNDING <= certificate.relative_gap <= tolerance
