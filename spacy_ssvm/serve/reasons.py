"""Features in words: "lower[-1] = in" is "the word before is “in”"."""

import re

from ..models.chain.factors import TRANSITION
from ..models.tree.factors import OF_LABELS

_PART = re.compile(r"(?:(head|mod|sib|grand)\.)?([A-Za-z_][\w.]*)\[(-?\d+)\]")
_AFFIX = re.compile(r"(?:lower_)?(prefix|suffix)(\d)")
_ROLES = {"head": "the head", "mod": "the dependent", "sib": "the sibling", "grand": "the head's head"}
_NOUNS = {
    "norm": "the norm",
    "shape": "the shape",
    "short_shape": "the shape",
    "length": "the length",
    "tag": "the tag",
    "pos": "the coarse tag",
    "lemma": "the lemma",
    "morph": "the morphology",
    "dep": "the relation",
    "ent_type": "the entity",
    "ent_iob": "the entity's boundary",
    "sent_start": "the place in its sentence",
    "break_before": "the space before",
    "doc.shape": "the usual shape in this text",
    "doc.label": "the usual label in this text",
}
_FLAGS = {
    "is_title": "is capitalised",
    "is_upper": "is in capitals",
    "is_lower": "is in small letters",
    "is_alpha": "has letters only",
    "is_digit": "has digits only",
    "is_punct": "is punctuation",
    "is_stop": "is a stop word",
    "is_currency": "is a currency",
    "like_num": "looks like a number",
    "like_url": "looks like an address",
    "like_email": "looks like an e-mail address",
    "has_digit": "has a digit",
    "has_hyphen": "has a hyphen",
    "has_upper": "has a capital letter",
    "has_space": "is followed by a space",
}
_RELATIONS = {"direction": "the arc goes to the", "distance": "the distance is"}


def in_words(feature: str) -> str:
    """A feature in words, or else as explanations name it."""
    if feature == "bias":
        return "how frequent the label is"
    if feature == TRANSITION:
        return "the label of the word before"
    template, _, values = feature.removeprefix(OF_LABELS).partition(" = ")
    parts = template.split("+")
    given = values.split(" + ") if values else ["yes"] * len(parts)
    if len(given) != len(parts):
        return feature
    phrases = [_phrase(part, value) for part, value in zip(parts, given)]
    if None in phrases:
        return feature
    said = " and ".join(map(str, phrases))
    return f"for its label: {said}" if feature.startswith(OF_LABELS) else said


def _phrase(part: str, value: str) -> str | None:
    """A part of a template and its value; None if there are no words for it."""
    if part in _RELATIONS:
        return f"{_RELATIONS[part]} {value}"
    match = _PART.fullmatch(part)
    if match is None:
        return None
    role, attribute, offset = match[1], match[2], int(match[3])
    place = _place(_ROLES.get(role, "this word"), offset)
    if value in ("outside", "none", "root"):
        return f"{place} does not exist" if value != "root" else f"{place} is the root"
    if attribute in ("word", "lower"):
        return f"{place} is “{value}”"
    if attribute in _FLAGS:
        return f"{place} {_FLAGS[attribute]}"
    affix = _AFFIX.fullmatch(attribute)
    if affix:
        verb = "begins with" if affix[1] == "prefix" else "ends in"
        return f"{place} {verb} “{value}”"
    if attribute.startswith("gazetteer."):
        return f"{place} is in the list {attribute.partition('.')[2]} ({value})"
    noun = _NOUNS.get(attribute)
    if attribute.startswith(("cluster", "class.")):
        noun = "the word class"
    elif attribute.startswith("morph."):
        noun = f"the feature {attribute.partition('.')[2]}"
    return noun and f"{noun} of {place} is {value}"


def _place(base: str, offset: int) -> str:
    if offset == 0:
        return base
    side = "before" if offset < 0 else "after"
    after = "" if base == "this word" else f" {base}"
    return f"the word {side}{after}" if abs(offset) == 1 else f"the word {abs(offset)} {side}{after}"
