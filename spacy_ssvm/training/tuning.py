"""Parameters of a component's solver, chosen by development score along a path of warm starts."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

from spacy.language import Language
from spacy.training import Example

from ..solvers.parameters import Parameters
from .figures import Figures

GRID = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
"""Of C: Chang & Yih 2013, §4.3."""

PATIENCE = 2
"""Epochs without a better score after which it is the next values' turn."""

Values = Mapping[str, Any]
"""Parameters of a solver by name."""


class Tunable(Protocol):
    """A component whose solver can be replaced while it keeps its examples."""

    solver: Parameters

    @property
    def figures(self) -> Figures | None: ...

    def retune(self, solver: Parameters) -> None: ...

    def update(self, examples: Sequence[Example]) -> dict[str, float]: ...


@dataclass(frozen=True)
class Trial:
    """What a component has reached with these values of its solver's parameters.

    score: the best of its epochs. epochs: how many there were. non_zeros: weights that were not zero after the best of
    them. seconds: of CPU time for learning and scoring.
    """

    values: Values
    score: float
    epochs: int
    non_zeros: int
    seconds: float


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[Values]:
    """All combinations of these values, C from small to large for each of the others'."""
    names = sorted(grid, key=lambda name: name == "C")
    columns = [sorted(grid[name]) if name == "C" else grid[name] for name in names]
    return [dict(zip(names, values)) for values in product(*columns)]


def best_of(trials: Sequence[Trial]) -> Trial:
    """The one with the highest score; of several, that with the smallest C."""
    return max(trials, key=lambda trial: (trial.score, -trial.values.get("C", 0.0)))


def between(trials: Sequence[Trial]) -> Values:
    """The best values so far, with a C halfway to a neighbour's, in logarithms, in the wider of both gaps.

    Next to the smallest and the largest C there is another gap as wide as that on their other side.

    trials: at least two that differ in C alone, the best among them.
    """
    best = best_of(trials).values
    C = best["C"]
    known = sorted({trial.values["C"] for trial in trials if {**trial.values, "C": C} == best})
    place = known.index(C)
    below = C / known[place - 1] if place > 0 else known[1] / C
    above = known[place + 1] / C if place + 1 < len(known) else C / known[-2]
    upwards = above > below or (above == below and place > 0)
    return {**best, "C": C * math.sqrt(above) if upwards else C / math.sqrt(below)}


def train_others(nlp: Language, name: str, examples: Sequence[Example], epochs: int, frozen: Sequence[str]) -> None:
    """Train the components that are to learn beside the named one, which is tuned on what they have learnt.

    Raises:
        ValueError: one of them is none of ours.
    """
    others = {other: pipe for other, pipe in nlp.pipeline if other not in (name, *frozen)}
    pipe: Any
    for other, pipe in others.items():
        if hasattr(pipe, "retune"):
            for _ in range(epochs):
                pipe.update(examples)
        elif getattr(pipe, "is_trainable", False):
            raise ValueError(f'"{other}" learns, too: train it first, then source and freeze it to tune "{name}"')


def try_values(
    pipe: Tunable,
    values: Values,
    examples: Sequence[Example],
    evaluate: Callable[[], float],
    epochs: int,
    report: Callable[[int, float], None],
) -> Trial:
    """Learn with these values, from where the values before have led to, until the score stops rising.

    evaluate: gives the development score. epochs: at most so many. report: gets each epoch's number and score.

    Raises:
        ValueError: there are no such values of these parameters.
    """
    started = time.process_time()
    pipe.retune(replace(pipe.solver, **values))
    scores: list[float] = []
    non_zeros = 0
    while len(scores) < epochs and (not scores or len(scores) - scores.index(max(scores)) <= PATIENCE):
        before = pipe.figures
        pipe.update(examples)
        if pipe.figures is before and not scores:  # Examples that are new are met before the epoch ends.
            pipe.update(examples)
        if pipe.figures is before and scores:  # at its tolerance
            break
        scores.append(evaluate())
        report(len(scores), scores[-1])
        if pipe.figures is not None and scores[-1] == max(scores):
            non_zeros = pipe.figures.non_zeros
    return Trial(values, max(scores), len(scores), non_zeros, time.process_time() - started)
