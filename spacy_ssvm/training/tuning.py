"""Choice of parameters and settings by development score: along a path of warm starts, or by successive halving."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from spacy.training import Example

from ..solvers.parameters import Parameters
from .trainer import Figures

GRID = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""The default values of C: Chang & Yih 2013, §4.3."""

PATIENCE = 2
"""Epochs without a better score after which the next values are tried."""

RESAMPLES = 1000
"""Samples of a paired bootstrap."""

MIN_DOCUMENTS = 20
"""The min number of documents for a bootstrap to say anything about others."""

Values = Mapping[str, Any]
"""Parameters of a solver by name."""


class Score(NamedTuple):
    """A development score.

    Attributes:
        counts: float64 [documents, ratios, 2], the numerators and denominators of ratios, such as F1, whose sums over
            documents make the score; None if it is no such score.
    """

    total: float
    counts: np.ndarray | None = None


class Tunable(Protocol):
    """A component whose solver can be replaced while it keeps its examples."""

    @property
    def solver(self) -> Parameters: ...

    @property
    def figures(self) -> Figures | None: ...

    def retune(self, solver: Parameters) -> None: ...

    def update(self, examples: Sequence[Example]) -> dict[str, float]: ...

    def finish_update(self, sgd: Any) -> None: ...


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of learning with some values of a solver's parameters.

    Attributes:
        score: the best score after any epoch.
        epochs: the number of epochs.
        non_zeros: the number of non-zero weights after the best epoch.
        seconds: CPU time for learning and scoring.
        counts: of the score, as in `Score`.
    """

    values: Values
    score: float
    epochs: int
    non_zeros: int
    seconds: float
    counts: np.ndarray | None = None


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[Values]:
    """All combinations of the values; for each combination of the others, C goes from small to large."""
    names = sorted(grid, key=lambda name: name == "C")
    columns = [sorted(grid[name]) if name == "C" else grid[name] for name in names]
    return [dict(zip(names, values)) for values in product(*columns)]


def best_of(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest score, and with the smallest C if several have it."""
    return max(trials, key=lambda trial: (trial.score, -trial.values.get("C", 0.0)))


def as_good(trials: Sequence[Trial], weights: Sequence[float]) -> list[bool] | None:
    """For each trial whether its score is not significantly lower than the best one's, at 95 %.

    A paired bootstrap: of samples of the documents with replacement, the best trial has a higher score in fewer than
    95 %. weights: of the ratios, whose weighted sum is the score.

    None if the scores do not follow from counts, or there are too few documents to tell.
    """
    if any(trial.counts is None or len(trial.counts) < MIN_DOCUMENTS for trial in trials):
        return None
    counts = np.stack([trial.counts for trial in trials if trial.counts is not None])

    def scores(times: np.ndarray) -> np.ndarray:
        """The score of each trial, given the number of times that each document occurs."""
        right, of = np.moveaxis(np.tensordot(times, counts, axes=(0, 1)), -1, 0)
        return np.asarray(np.divide(right, of, out=np.zeros_like(right), where=of > 0) @ np.asarray(weights))

    n = counts.shape[1]
    if not np.allclose(scores(np.ones(n)), [trial.score for trial in trials], rtol=0, atol=1e-9):
        return None
    rng = np.random.default_rng(0)
    samples = np.array([scores(np.bincount(rng.integers(n, size=n), minlength=n)) for _ in range(RESAMPLES)])
    best = samples[:, list(trials).index(best_of(trials))]
    return [bool(share < 0.95) for share in (best[:, None] > samples).mean(axis=0)]


def between(trials: Sequence[Trial]) -> Values:
    """The best values so far, but with C halfway, in logarithms, between the best C and a neighbour.

    The neighbour is the one across the wider gap. Beyond the smallest and the largest C there is a gap as wide as the
    one on the other side.

    Args:
        trials: among them the best one, and at least one that differs from it in C alone.
    """
    best = best_of(trials).values
    C = best["C"]
    known = sorted({trial.values["C"] for trial in trials if {**trial.values, "C": C} == best})
    place = known.index(C)
    below = C / known[place - 1] if place > 0 else known[1] / C
    above = known[place + 1] / C if place + 1 < len(known) else C / known[-2]
    upwards = above > below or (above == below and place > 0)
    return {**best, "C": C * math.sqrt(above) if upwards else C / math.sqrt(below)}


def learn(pipe: Tunable, examples: Sequence[Example]) -> None:
    """Learn from one batch, also where the config would have the component learn from several parts at once."""
    pipe.update(examples)
    pipe.finish_update(None)


class TuningRun(NamedTuple):
    """A training run in which values of a solver are tried.

    Attributes:
        pipe: the component that is tuned, which has met the examples if trials are to start from scratch.
        evaluate: returns the development score.
    """

    pipe: Any
    examples: Sequence[Example]
    evaluate: Callable[[], Score]


@dataclass
class RunningTrial:
    """Learning with some values, as far as it has come.

    Attributes:
        scores: after each epoch.
        counts, non_zeros: as in `Trial`, after the best epoch.
        seconds: as in `Trial`.
        has_converged: whether the solver has reached its tolerance.
    """

    values: Values
    scores: list[float] = field(default_factory=list)
    counts: np.ndarray | None = None
    non_zeros: int = 0
    seconds: float = 0.0
    has_converged: bool = False

    def go_on(
        self, run: TuningRun, epochs: int, report: Callable[[int, float], None], patience: float = PATIENCE
    ) -> None:
        """Learn for so many epochs in all, or until so many do not raise the score.

        Args:
            report: is called with the number and the score of each epoch.
        """
        pipe: Tunable = run.pipe
        started = time.process_time()
        while len(self.scores) < epochs and not self.has_converged and self._n_since_best() <= patience:
            before = pipe.figures
            learn(pipe, run.examples)
            if pipe.figures is before and not self.scores:  # An epoch with new examples ends when the next one begins.
                learn(pipe, run.examples)
            if pipe.figures is before and self.scores:
                self.has_converged = True
                break
            score = run.evaluate()
            self.scores.append(score.total)
            report(len(self.scores), score.total)
            if self.scores.index(max(self.scores)) == len(self.scores) - 1:
                self.counts = score.counts
            if pipe.figures is not None and score.total == max(self.scores):
                self.non_zeros = pipe.figures.non_zeros
        self.seconds += time.process_time() - started

    def _n_since_best(self) -> int:
        """The number of epochs from the best one on."""
        return len(self.scores) - self.scores.index(max(self.scores)) if self.scores else 0

    def result(self) -> Trial:
        """The result so far."""
        return Trial(self.values, max(self.scores), len(self.scores), self.non_zeros, self.seconds, self.counts)


def rounds(n: int, epochs: int) -> list[int]:
    """The epochs that n trials have learnt for by the end of each round of successive halving.

    In each round, the trials that are left learn for about twice as many epochs as before; two are left in the last.
    """
    return sorted({math.ceil(epochs / 2**k) for k in range(max(1, (n - 1).bit_length()))})


def n_epochs_of_halving(n: int, epochs: int) -> int:
    """The max number of epochs that n trials together learn for."""
    total, before, left = 0, 0, n
    for limit in rounds(n, epochs):
        total += left * (limit - before)
        # One may be there to compare with.
        before, left = limit, min(left, math.ceil(left / 2) + 1)
    return total


def halve(
    points: Sequence[Values],
    epochs: int,
    try_all: Callable[[Sequence[tuple[int, Values]], int], Iterable[tuple[int, Trial]]],
    default: int | None = None,
) -> tuple[list[Trial], list[int]]:
    """Successive halving (Jamieson & Talwalkar 2016): in each round, the better half of the trials learns on.

    Returns the trials of all points, and the numbers of those that were left in the last round.

    Args:
        epochs: the max number of epochs of a trial.
        try_all: tries numbered values for a number of epochs in all, and returns their trials, in any order.
        default: the number of the point that is never left out, if there is one.
    """
    always: set[int] = set() if default is None else {default}
    trials: dict[int, Trial] = {}
    left: list[int] = []
    for n_epochs in rounds(len(points), epochs):
        ranked = sorted(left, key=lambda number: -trials[number].score)
        left = sorted({*ranked[: math.ceil(len(left) / 2)], *always}) if trials else list(range(len(points)))
        trials.update(try_all([(number, points[number]) for number in left], n_epochs))
    return [trials[number] for number in range(len(points))], left
