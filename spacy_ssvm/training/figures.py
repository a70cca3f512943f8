"""What a component reports of its solver after an epoch."""

from typing import NamedTuple


class Figures(NamedTuple):
    """Figures of one complete epoch.

    epoch: its number, from 1. loss: Σ of the losses suffered in it. primal: a running estimate of the primal
    objective, summed while the weights moved, or None. dual: the dual objective, or None. planes: size of all
    working sets, or None. outside: the largest violation found outside the working sets by solvers that have no other
    measure of how far they are, or None. non_zeros: non-zero weights among those to predict with.
    """

    epoch: int
    loss: float
    primal: float | None
    dual: float | None
    planes: int | None
    outside: float | None
    non_zeros: int
