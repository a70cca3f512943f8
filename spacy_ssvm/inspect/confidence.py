"""Scores of parts: probabilities where a component has a distribution, margins elsewhere; and the k best analyses."""

import math
import operator
from collections.abc import Iterable
from typing import SupportsIndex

from ..models.scored import MIN_PROBABILITY, Listing, NamedPart, PartNames, ScoredSequence
from ..solvers.parameters import LossFamily, Parameters


def inverse_temperature(solver: Parameters) -> float | None:
    """β of P(y) ∝ exp(β · wᵀΦ(x, y)), whose likelihood the solver maximises; None for a solver without one."""
    return float(solver.beta) if isinstance(solver, LossFamily) and solver.is_smooth else None


def scored_parts(
    sequences: Iterable[ScoredSequence], names: PartNames, listing: Listing, beta: float | None, min_score: float
) -> list[tuple[NamedPart, float]]:
    """The parts of a Doc that score `min_score` or more, and their scores: probabilities by β, or margins without it.

    sequences: the Doc or its sentences, in order. listing: of the kind of parts that are asked for.
    """
    found = []
    for first, scored in sequences:
        values = scored.margins() if beta is None else scored.marginals(beta)
        found += [(names.named(part, first), value) for part, value in listing(values, min_score)]
    return found


def best_analyses(sequences: Iterable[ScoredSequence], names: PartNames, k: int) -> list[tuple[float, list[NamedPart]]]:
    """The k best analyses of a Doc, best first: their scores wᵀΦ(x, y), and the parts that they consist of.

    sequences: the Doc or its sentences, in order.

    Raises:
        ValueError: k is less than 1.
    """
    analyses: list[tuple[float, list[NamedPart]]] = [(0.0, [])]
    for first, scored in sequences:
        found = [(y.score, names.parts(y, first)) for y in scored.best(k)]
        # i · j pairs are no worse than the i-th with the j-th.
        pairs = [
            (score + more, parts + others)
            for i, (score, parts) in enumerate(analyses, 1)
            for more, others in found[: k // i]
        ]
        analyses = sorted(pairs, key=lambda pair: -pair[0])[:k]
    return analyses


def checked_min_score(
    name: str, min_score: float | None, is_probability: bool, parameter: str = "the minimum score to list"
) -> float:
    """The smallest score to list: `min_score` or, by default, MIN_PROBABILITY or a margin of 0.

    Raises:
        ValueError: it is no number, or a probability that is not above 0 and at most 1.
    """
    if min_score is None:
        return MIN_PROBABILITY if is_probability else 0.0
    if math.isnan(min_score) or (is_probability and not 0.0 < min_score <= 1.0):
        wanted = "a probability above 0, at most 1" if is_probability else "a margin"
        raise ValueError(f"[{name}] {parameter} must be {wanted}, not {min_score!r}")
    return float(min_score)


def checked_count(name: str, count: SupportsIndex, parameter: str = "k") -> int:
    """The value of a parameter that says how many to list.

    Raises:
        ValueError: it is no whole number from 1 on.
    """
    try:
        checked = operator.index(count)
    except TypeError:
        checked = 0
    if checked < 1:
        raise ValueError(f"[{name}] {parameter} must be a whole number of at least 1, not {count!r}")
    return checked
