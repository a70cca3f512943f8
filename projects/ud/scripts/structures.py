"""The structures of the parser that are compared, and the choice among them."""

from collections.abc import Mapping
from typing import Any

MIN_CROSSING = 0.05
"""The share of training sentences with crossing arcs from which both structures are trained."""

STRUCTURES = {"projective": 3, "nonprojective": 2}
"""Structure → order."""

NO_PARSER = "no_parser"
"""In place of a structure, for a treebank without trees."""


def compared(crossing: float) -> list[str]:
    """The structures worth training for this share of sentences with crossing arcs, from 0 to 1."""
    return list(STRUCTURES) if crossing >= MIN_CROSSING else ["projective"]


def overrides(structure: str) -> list[str]:
    """The overrides of a config that give the parser this structure; there are none for NO_PARSER."""
    if structure == NO_PARSER:
        return []
    model = "--components.parser.model"
    return [f"{model}.structure", structure, f"{model}.order", str(STRUCTURES[structure])]


def chosen(records: Mapping[str, Mapping[str, Any]]) -> str:
    """The structure with the highest LAS on gold words of the development set; of equals, the first.

    records: structure → its record, with F1 in percent in `dev`.
    """
    return max(records, key=lambda structure: records[structure]["dev"]["gold"].get("LAS", 0.0))
