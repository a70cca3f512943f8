"""Rests: a dual solver leaves out updates and oracle calls that hardly raised the dual at earlier visits.

After an update that has raised the dual by less than the average, the example rests from updates; after an oracle call
whose plane has raised it by little, it pauses from calls, longer each time. No printed algorithm has rests. They save a
fifth to a half of the time to a gap.
"""

from typing import NamedTuple

import numpy as np

from ..growth import extended
from ..kernels import kernel
from .state import Field

REST = 5
"""Visits without an update after one that has raised the dual by less than the average update."""

MAX_PAUSE = 7
"""Visits without an oracle call between two calls, at most: pauses last 0, 1, 3, 7, 7, … visits."""

MIN_SHARE = 0.1
"""A call whose plane raises the dual by less than this part of the average call's rise makes the pause longer."""

UPDATES, CALLS = 0, 1
"""Places in `RestSchedule.averages`."""


class RestSchedule(NamedTuple):
    """The rests of n examples from updates and oracle calls, whose last ones have hardly raised the dual.

    Attributes:
        rests: int64 [n], the number of coming updates to skip.
        pauses: int64 [n], the number of coming oracle calls to skip.
        lengths: int64 [n], of the last pause.
        slacks: float64 [n], the ξ of the last call.
        averages: float64 [2], the rise of the dual by an update, and by the plane of an oracle call, averaged over
            about the last n.
    """

    rests: np.ndarray
    pauses: np.ndarray
    lengths: np.ndarray
    slacks: np.ndarray
    averages: np.ndarray


def no_rests(n_examples: int) -> RestSchedule:
    """A schedule in which no example rests."""
    rests, pauses, lengths = (np.zeros(n_examples, np.int64) for _ in range(3))
    return RestSchedule(rests, pauses, lengths, np.zeros(n_examples), np.zeros(2))


@kernel
def rests(schedule, example):
    """Whether the example leaves out this update."""
    if schedule.rests[example] <= 0:
        return False
    schedule.rests[example] -= 1
    return True


@kernel
def pauses(schedule, example):
    """Whether the example leaves out this oracle call."""
    if schedule.pauses[example] <= 0:
        return False
    schedule.pauses[example] -= 1
    return True


@kernel
def _average(schedule, place, rise):
    """Add a rise of the dual to its running average; returns the average so far."""
    before = schedule.averages[place]
    schedule.averages[place] += (rise - before) / len(schedule.rests)
    return before


@kernel
def note_update(schedule, example, rise):
    """Note an update that has raised the dual by `rise`."""
    if rise < _average(schedule, UPDATES, rise):
        schedule.rests[example] = REST


@kernel
def note_call(schedule, example, slack, rise):
    """Note an oracle call that has found this ξ, and whose plane can raise the dual by `rise`."""
    schedule.slacks[example] = slack
    if rise > MIN_SHARE * _average(schedule, CALLS, rise):
        schedule.lengths[example] = 0
    else:
        schedule.lengths[example] = min(2 * schedule.lengths[example] + 1, MAX_PAUSE)
    schedule.pauses[example] = schedule.lengths[example]


class Rests:
    """The schedule of a learner's examples, for kernels; a change of the problem ends rests.

    Args:
        n_examples: n.
    """

    STATE = (Field("schedule", of="rests"),)
    """The field of a learner with this in its attribute `rests`."""

    def __init__(self, n_examples: int) -> None:
        self.schedule = no_rests(n_examples)
        self._n_examples = n_examples
        self._noted = [np.arange(n_examples)]
        """Examples that may rest, since all others are awake."""

    def begin_epoch(self) -> None:
        """Start an epoch in which any example may come to rest."""
        self._noted = [np.arange(self._n_examples)]

    def note(self, examples: np.ndarray) -> None:
        """Note that these examples, int64, may come to rest."""
        self._noted.append(examples)

    def change(self, n_examples: int, dropped: np.ndarray) -> None:
        """Wake these examples, int64, and all if there are more examples now; the last ones go if there are fewer."""
        self._wake(dropped)
        # Examples of a saved state that come back are no more than before.
        if n_examples > self._n_examples:
            for examples in self._noted:
                self._wake(examples)
            self._noted = []
            rests, pauses, lengths, slacks = (extended(part, n_examples) for part in self.schedule[:-1])
            self.schedule = RestSchedule(rests, pauses, lengths, slacks, np.zeros(2))
        elif n_examples < self._n_examples:
            rests, pauses, lengths, slacks = (part[:n_examples].copy() for part in self.schedule[:-1])
            self.schedule = RestSchedule(rests, pauses, lengths, slacks, self.schedule.averages)
            self._noted = [np.arange(n_examples)]
        self._n_examples = n_examples

    def _wake(self, examples: np.ndarray) -> None:
        for per_example in self.schedule[:-1]:
            per_example[examples] = 0
