"""The protocol between a component and its learning, by one process or by many, and the figures of an epoch."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from spacy.tokens import Doc

from ..models.protocol import DataSet, StructuredModel
from ..solvers.learner import Certificate
from ..solvers.parameters import Parameters
from .examples import EncodedExamples, ReadExamples, Unreadable, encode
from .recognition import Marks


class Figures(NamedTuple):
    """Figures of one complete epoch.

    Attributes:
        epoch: its number, from 1.
        loss: the sum of the losses suffered in the epoch.
        primal: a running estimate of the primal objective, summed while the weights changed, or None.
        dual: the dual objective, or None.
        planes: the total size of the working sets, or None.
        outside: the largest violation found outside the working sets, for solvers without another measure of progress,
            or None.
        non_zeros: the number of non-zero weights to predict with.
    """

    epoch: int
    loss: float
    primal: float | None
    dual: float | None
    planes: int | None
    outside: float | None
    non_zeros: int


class Trainer(Protocol):
    """The learning of one component.

    Attributes:
        parameters: of the solver.
        data: the examples learnt from.
        figures: of the last complete epoch.
        gets_parts: whether `update` gets parts of a batch, which `learn` ends.
    """

    parameters: Parameters
    data: DataSet
    figures: Figures | None
    gets_parts: bool

    def __len__(self) -> int:
        """The number of examples that are known."""

    def knows(self, reference: Doc, marks: Marks) -> bool:
        """Whether `update` takes an example by its reference alone; any other example has to be encoded."""

    def update(self, encoded: EncodedExamples) -> float:
        """Learn from one batch; returns the sum of the losses that the solver has suffered: 0 if `gets_parts`."""

    def learn(self) -> float:
        """Learn from the parts of a batch that `update` has taken in, as from one batch; returns the loss."""

    def weights(self) -> np.ndarray:
        """The weights to predict with, float64 [d], as the data number them."""

    def has_state(self) -> bool:
        """Whether the solver remembers more than its weights."""

    def state(self) -> dict[str, Any] | None:
        """The state to save; None if there is none."""

    def certificate(self) -> Certificate | None:
        """The primal and dual objective at the present w, or None if there are none."""


def learn_from(training: Trainer, read: ReadExamples, model: StructuredModel, unreadable: Unreadable) -> float | None:
    """Encode the examples of a batch and learn from them; returns the sum of the losses, None without any example.

    Raises:
        Exception: none of the examples can be read, and none could before: the error of the first one.
    """
    encoded = encode(read, model, unreadable)
    unreadable.report(len(read.examples), len(training))
    return training.update(encoded) if encoded.numbers else None
