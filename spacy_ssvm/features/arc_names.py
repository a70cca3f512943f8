"""Features of arcs in the words of the templates: "head.tag[0]+mod.tag[0]+direction = VBZ + NN + right"."""

from typing import NamedTuple

from .arc_templates import ROLES, ArcTemplate
from .names import Source, attribute_value, named, part_value

LENGTHS = {5: "5–6", 6: "7–10", 7: "11–20", 8: "21–30", 9: "over 30"}
"""The binned lengths of arcs that are not the length itself."""


class Place(NamedTuple):
    """Where a template fires in the sentence first … end − 1 of a Doc.

    words: role → node, 0 for the root, tokens from 1 on, n + 1 for nobody. between: the node whose word lies between,
    or 0. distance: the bin of the length, negative where the head is to the left.
    """

    first: int
    end: int
    words: dict[str, int]
    between: int
    distance: int


def arc_feature_name(template: ArcTemplate, source: Source, place: Place) -> str:
    """What a template reads at a place where it fires, as "template = values"."""
    values = []
    for role in ROLES:
        for part in template.words[role].parts if role in template.words else ():
            node = place.words[role]
            if node == 0:
                values.append("root")
            elif node > place.end - place.first:
                values.append("none")
            else:
                values.append(part_value(part, source, place.first + node - 1, place.first, place.end))
    if template.between:
        values.append(attribute_value(template.between, source, place.first + place.between - 1))
    if template.relation == "direction":
        values.append(_direction(template, place.words))
    elif template.relation == "distance":
        length = abs(place.distance)
        values.append(f"{LENGTHS.get(length, length)} to the {'right' if place.distance < 0 else 'left'}")
    return named(str(template), values)


def _direction(template: ArcTemplate, words: dict[str, int]) -> str:
    """The way from head to modifier; after that from the head's head, where the template reads it."""
    head, modifier = words["head"], words["mod"]
    way = "root" if head == 0 else "right" if head < modifier else "left"
    if template.kind != "grandparent":
        return way
    return f"{'right' if words['grand'] < head else 'left'} and {way}"
