"""Differences of predicted from gold annotation, as each component's codec lists them."""

from typing import NamedTuple

NOTHING = "-"
"""Stands for the missing side of a mistake: an entity that was not found, or one that is none."""


class Mistake(NamedTuple):
    """Tokens start … end − 1 of a predicted Doc, and the two annotations of them, by name."""

    start: int
    end: int
    gold: str
    predicted: str
