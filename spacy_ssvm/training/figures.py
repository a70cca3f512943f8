"""The figures of a solver after an epoch."""

from typing import NamedTuple


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
