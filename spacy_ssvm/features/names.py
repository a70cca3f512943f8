"""Features in the words of the templates: "lower[0]+lower[1] = new york"."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token

from ..words import BREAKS
from .arc_templates import ROLES, ArcTemplate
from .attributes import (
    BREAK_BEFORE,
    DOCUMENT_LABEL,
    DOCUMENT_SHAPE,
    EXTENSION,
    GAZETTEER,
    KNOWN_SCRIPTS,
    MORPH_FEATURE,
    TEXT_PARTS,
    class_part,
)
from .gazetteer import FIRST, INSIDE, LAST, SINGLE
from .templates import Part, Template
from .word_classes import WordClasses

_OF_TOKEN: dict[str, Callable[[Token], str]] = {
    **{name: attrgetter(f"{name}_") for name in ("norm", "lower", "shape", "tag", "pos", "lemma", "dep")},
    **{name: attrgetter(f"{name}_") for name in ("ent_type", "ent_iob")},
    "word": lambda token: token.text,
    "length": lambda token: str(len(token.text)),
    "morph": lambda token: str(token.morph) or "_",
    "sent_start": lambda token: "start" if token.is_sent_start else "inside",
}

_IN_PHRASE = {SINGLE: "alone", FIRST: "first", INSIDE: "inside", LAST: "last"}


class Source(NamedTuple):
    """The source of a Doc's features: attributes, the names of the C columns; keys, uint64 [C, tokens], their contents
    for the Doc; classes, word classes."""

    doc: Doc
    attributes: tuple[str, ...]
    keys: np.ndarray
    classes: WordClasses


def feature_name(template: Template, source: Source, token: int) -> str:
    """A template with the values that it reads at a token where it fires, as "template = values"."""
    return named(str(template), [part_value(part, source, token, 0, len(source.doc)) for part in template.parts])


def named(template: str, values: Sequence[str]) -> str:
    """A template with the values of its parts; flags alone have no values to name."""
    return f"{template} = {' + '.join(value or 'yes' for value in values)}" if any(values) else template


def part_value(part: Part, source: Source, token: int, first: int, end: int) -> str:
    """The value that a part reads at a token of the sequence first … end − 1; empty for a flag."""
    read_token = token + part.offset
    if not first <= read_token < end:
        return "outside"
    return attribute_value(part.attribute, source, read_token)


def attribute_value(name: str, source: Source, token: int) -> str:
    """The value of an attribute at a token, where it has one; empty for a flag."""
    word, part = source.doc[token], class_part(name)
    if name in TEXT_PARTS:
        return TEXT_PARTS[name].of(word.lex) or ""
    if name in _OF_TOKEN:
        return _OF_TOKEN[name](word)
    if name.startswith(GAZETTEER):
        return _IN_PHRASE[int(source.keys[source.attributes.index(name), token])]
    if name.startswith(EXTENSION):
        value = word._.get(name[len(EXTENSION) :])
        # All numbers belong to the same feature.
        return "number" if isinstance(value, float | np.floating) else str(value)
    if name.startswith(MORPH_FEATURE):
        return word.morph.to_dict().get(name[len(MORPH_FEATURE) :], "")
    if name == BREAK_BEFORE:
        return BREAKS[int(source.keys[source.attributes.index(name), token])]
    if name == DOCUMENT_SHAPE:
        key = source.keys[source.attributes.index(name), token]
        shapes = (TEXT_PARTS["short_shape"].of(other.lex) or "" for other in source.doc)
        return next(shape for shape in shapes if get_string_id(shape) == key)
    if name in (DOCUMENT_LABEL, *KNOWN_SCRIPTS):
        return source.doc.vocab.strings[int(source.keys[source.attributes.index(name), token])]
    if part is not None:
        return source.classes.class_of(part.source, word.text)[: part.prefix or None]
    return ""


LENGTHS = {5: "5–6", 6: "7–10", 7: "11–20", 8: "21–30", 9: "over 30"}
"""The bins of several arc lengths."""


class Place(NamedTuple):
    """The place where a template fires, in the sentence first … end − 1 of a Doc.

    Attributes:
        words: role → node: 0 for the root, tokens from 1 on, n + 1 for none.
        between: the node of the word between, or 0.
        distance: the bin of the arc's length, negative where the head is to the left.
    """

    first: int
    end: int
    words: dict[str, int]
    between: int
    distance: int


def arc_feature_name(template: ArcTemplate, source: Source, place: Place) -> str:
    """An arc template with the values that it reads at a place where it fires, as "template = values"."""
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
    """The direction from head to modifier; if the template reads the head's head, first the direction from there."""
    head, modifier = words["head"], words["mod"]
    direction = "root" if head == 0 else "right" if head < modifier else "left"
    if template.kind != "grandparent":
        return direction
    return f"{'right' if words['grand'] < head else 'left'} and {direction}"
