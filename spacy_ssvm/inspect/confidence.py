"""Scores of parts, which are probabilities if a component has a distribution and margins if not; k best analyses."""

import math
import operator
from collections.abc import Iterable, Iterator
from typing import SupportsIndex

from ..models.named_parts import MIN_PROBABILITY, NamedPart, PartNames, ScoredSequence
from ..structures.scored import Listing


def scored_parts(
    sequences: Iterable[ScoredSequence], names: PartNames, listing: Listing, beta: float | None, min_score: float
) -> Iterator[tuple[NamedPart, float]]:
    """The parts of a Doc that score at least `min_score`, with their scores: probabilities, or margins if β is None.

    Args:
        sequences: the Doc or its sentences, in order.
        listing: lists the parts of one kind.
    """
    for first, scored in sequences:
        values = scored.margins() if beta is None else scored.marginals(beta)
        for part, value in listing(values, min_score):
            yield names.named(part, first), value


def best_analyses(sequences: Iterable[ScoredSequence], names: PartNames, k: int) -> list[tuple[float, list[NamedPart]]]:
    """The k best analyses of a Doc, best first: the score wᵀΦ(x, y) and the parts of each.

    Args:
        sequences: the Doc or its sentences, in order.

    Raises:
        ValueError: k is less than 1.
    """
    analyses: list[tuple[float, list[NamedPart]]] = [(0.0, [])]
    for first, scored in sequences:
        of_sequence = [(y.score, names.parts(y, first)) for y in scored.best(k)]
        # The i-th best combined with the j-th best is at best the (i · j)-th of all combinations.
        pairs = [
            (score + more, parts + others)
            for i, (score, parts) in enumerate(analyses, 1)
            for more, others in of_sequence[: k // i]
        ]
        analyses = sorted(pairs, key=lambda pair: -pair[0])[:k]
    return analyses


def checked_min_score(
    name: str, min_score: float | None, is_probability: bool, parameter: str = "the minimum score to list"
) -> float:
    """The smallest score to list: `min_score`, or by default MIN_PROBABILITY or a margin of 0.

    Args:
        name, parameter: the names of the component and the parameter, for messages.

    Raises:
        ValueError: the score is not a number, or it is a probability that is not above 0 and at most 1.
    """
    if min_score is None:
        return MIN_PROBABILITY if is_probability else 0.0
    if math.isnan(min_score) or (is_probability and not 0.0 < min_score <= 1.0):
        wanted = "a probability above 0, at most 1" if is_probability else "a margin"
        raise ValueError(f"[{name}] {parameter} must be {wanted}, not {min_score!r}")
    return float(min_score)


def checked_count(name: str, count: SupportsIndex, parameter: str = "k") -> int:
    """The value of a parameter that limits the length of a list.

    Args:
        name, parameter: the names of the component and the parameter, for messages.

    Raises:
        ValueError: the value is not a whole number of at least 1.
    """
    try:
        checked = operator.index(count)
    except TypeError:
        checked = 0
    if checked < 1:
        raise ValueError(f"[{name}] {parameter} must be a whole number of at least 1, not {count!r}")
    return checked
