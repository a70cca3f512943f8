"""Features in the words of the templates: "lower[0]+lower[1] = new york"."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Token

from .arc_templates import ROLES, ArcTemplate
from .attributes import EXTENSION, GAZETTEER, LEXEME_TEXTS, cluster_prefix
from .gazetteer import FIRST, INSIDE, LAST, SINGLE
from .resources import cluster_of
from .templates import Part, Template

_OF_TOKEN: dict[str, Callable[[Token], str]] = {
    "word": lambda token: token.text,
    "norm": lambda token: token.norm_,
    "lower": lambda token: token.lower_,
    "shape": lambda token: token.shape_,
    "length": lambda token: str(len(token.text)),
    "tag": lambda token: token.tag_,
    "pos": lambda token: token.pos_,
    "lemma": lambda token: token.lemma_,
    "morph": lambda token: str(token.morph) or "_",
    "dep": lambda token: token.dep_,
    "ent_type": lambda token: token.ent_type_,
    "ent_iob": lambda token: token.ent_iob_,
    "sent_start": lambda token: "start" if token.is_sent_start else "inside",
}

_IN_PHRASE = {SINGLE: "alone", FIRST: "first", INSIDE: "inside", LAST: "last"}


class Source(NamedTuple):
    """What the features of a Doc are read from.

    attributes, keys: uint64 [C, tokens], the names of the columns and what they hold for this Doc. clusters: word key →
    cluster.
    """

    doc: Doc
    attributes: tuple[str, ...]
    keys: np.ndarray
    clusters: dict[int, str]


def feature_name(template: Template, source: Source, token: int) -> str:
    """What a template reads at a token where it fires, as "template = values"."""
    return named(str(template), [part_value(part, source, token, 0, len(source.doc)) for part in template.parts])


def named(template: str, values: Sequence[str]) -> str:
    """A template with what its parts have read; flags alone have no value to name."""
    return f"{template} = {' + '.join(value or 'yes' for value in values)}" if any(values) else template


def part_value(part: Part, source: Source, token: int, first: int, end: int) -> str:
    """What a part reads at a token of the sequence first … end − 1; nothing for a flag."""
    at, name = token + part.offset, part.attribute
    if not first <= at < end:
        return "outside"
    return attribute_value(name, source, at)


def attribute_value(name: str, source: Source, token: int) -> str:
    """What an attribute that has a value is at a token; nothing for a flag."""
    word, prefix = source.doc[token], cluster_prefix(name)
    if name in LEXEME_TEXTS:
        return LEXEME_TEXTS[name](word.lex) or ""
    if name in _OF_TOKEN:
        return _OF_TOKEN[name](word)
    if name.startswith(GAZETTEER):
        return _IN_PHRASE[int(source.keys[source.attributes.index(name), token])]
    if name.startswith(EXTENSION):
        value = word._.get(name[len(EXTENSION) :])
        # All numbers are values of one feature.
        return "number" if isinstance(value, float | np.floating) else str(value)
    if prefix is not None:
        return (cluster_of(source.clusters, word.lex) or "")[: prefix or None]
    return ""


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
