"""The template language: a feature template is a string in the config.

    suffix3[0]             the last three characters of the token
    lower[-1]+lower[0]     the bigram of the previous and this token, lower-cased
    gazetteer.city[0]      the token's place in a phrase of the gazetteer "city"
    _.room[0]              the custom extension attribute Token._.room
    bias                   1 for every token

A template joins parts with "+". A part is an attribute and, in brackets, the offset of the token that it is read from,
relative to the current token. A template fires where every part has a value; before the first and after the last token
of a Doc, every attribute has the value "outside".
"""

import re
from dataclasses import dataclass

from .attributes import is_attribute, suggestions

MAX_OFFSET = 100
_PART = re.compile(r"(?P<attribute>[A-Za-z_][\w.]*)\[(?P<offset>-?\d+)\]")


@dataclass(frozen=True)
class Part:
    """One attribute, read `offset` tokens to the right of the current token (to the left if negative)."""

    attribute: str
    offset: int

    def __str__(self) -> str:
        return f"{self.attribute}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """A conjunction of parts; without parts it is the bias."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts)) or "bias"


def reads(template: Template, attribute: str) -> bool:
    """Whether a part of the template is this attribute."""
    return any(part.attribute == attribute for part in template.parts)


def parse_template(text: str) -> Template:
    """Read one template.

    Raises:
        ValueError: the text is no template, names an unknown attribute or repeats a part.
    """
    if not isinstance(text, str):
        raise ValueError(f"feature template {text!r} is not a string")
    if text.strip() == "bias":
        return Template(())
    parts = []
    for piece in text.split("+"):
        match = _PART.fullmatch(piece.strip())
        if match is None:
            raise ValueError(
                f'feature template "{text}": cannot read "{piece}"; '
                'write attribute[offset], as in "lower[-1]+lower[0]", or "bias"'
            )
        part = Part(match["attribute"], int(match["offset"]))
        if not is_attribute(part.attribute):
            raise ValueError(
                f'feature template "{text}": unknown attribute "{part.attribute}"; {suggestions(part.attribute)}'
            )
        if abs(part.offset) > MAX_OFFSET:
            raise ValueError(f'feature template "{text}": offset {part.offset} is beyond ±{MAX_OFFSET}')
        if part in parts:
            raise ValueError(f'feature template "{text}": "{part}" stands there twice')
        parts.append(part)
    return Template(tuple(parts))


def parse_templates(texts: list[str]) -> tuple[Template, ...]:
    """Read a list of templates, in order.

    Raises:
        ValueError: the list is empty, a template is bad, or two templates are equivalent.
    """
    templates: dict[frozenset[Part], str] = {}
    result = []
    for text in texts:
        template = parse_template(text)
        same = templates.setdefault(frozenset(template.parts), text)
        if same is not text or template in result:
            raise ValueError(f'feature template "{text}" says the same as "{same}": remove one')
        result.append(template)
    if not result:
        raise ValueError("the list of feature templates is empty")
    return tuple(result)
