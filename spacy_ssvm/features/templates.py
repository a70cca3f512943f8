"""The template language, and its programs: a feature template is a string in the config.

    suffix3[0]             the last three characters of the token
    lower[-1]+lower[0]     the bigram of the previous and this token, lower-cased
    gazetteer.city[0]      the token's place in a phrase of the gazetteer "city"
    _.room[0]              the custom extension attribute Token._.room
    bias                   1 for every token

A template joins parts with "+". A part is an attribute and, in brackets, the offset of the token that it is read from,
relative to the current token. A template fires where every part has a value; before the first and after the last token
of a Doc, every attribute has the value "outside". Programs are templates as arrays; those that read a single word type
are separated from the others.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from spacy.strings import get_string_id

from .attributes import EXTENSION, is_attribute, suggestions
from .index import Program

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
    parts: list[Part] = []
    for piece in text.split("+"):
        part = parse_part(piece, "feature", text)
        if part in parts:
            raise ValueError(f'feature template "{text}": "{part}" stands there twice')
        parts.append(part)
    return Template(tuple(parts))


def parse_part(text: str, kind: str, template: str) -> Part:
    """Read one part of a template. kind, template: what messages say of the whole, such as "feature", and its text.

    Raises:
        ValueError: the text is no part, names an unknown attribute, or has an offset beyond MAX_OFFSET.
    """
    match = _PART.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f'{kind} template "{template}": cannot read "{text}"; write attribute[offset], as in "lower[-1]"'
        )
    part = Part(match["attribute"], int(match["offset"]))
    if not is_attribute(part.attribute):
        raise ValueError(
            f'{kind} template "{template}": unknown attribute "{part.attribute}"; {suggestions(part.attribute)}'
        )
    if abs(part.offset) > MAX_OFFSET:
        raise ValueError(f'{kind} template "{template}": offset {part.offset} is beyond ±{MAX_OFFSET}')
    return part


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


def attributes_of(templates: Sequence[Template]) -> list[str]:
    """The attributes that these templates read, each once."""
    return list(dict.fromkeys(part.attribute for template in templates for part in template.parts))


def compile_templates(templates: Sequence[Template], attributes: Sequence[str]) -> Program:
    """The templates' parts as flat arrays, over columns with these attributes.

    A template's hash state is seeded by its text, so that rows do not depend on its position in the list.
    """
    extensions = [name for name in attributes if name.startswith(EXTENSION)]
    parts = [part for template in templates for part in template.parts]
    return Program(
        np.cumsum([0, *(len(template.parts) for template in templates)]),
        np.array([attributes.index(part.attribute) for part in parts], np.int64),
        np.array([part.offset for part in parts], np.int64),
        np.array([get_string_id(str(template)) for template in templates], np.uint64),
        np.array([extensions.index(name) if name in extensions else -1 for name in attributes], np.int64),
    )


MIN_GROUP = 2
"""The smallest number of templates of one offset that form a group."""


class Groups(NamedTuple):
    """Templates in G groups; each group reads only the type of the token at one offset.

    Attributes:
        offsets: int64 [G].
        starts: int64 [G + 1], the first template of each group.
        program: these templates, at offset 0.
    """

    offsets: np.ndarray
    starts: np.ndarray
    program: Program


class SplitProgram(NamedTuple):
    """The templates of a program, split into groups and the rest."""

    groups: Groups
    rest: Program


def split_program(program: Program, templates: Sequence[Template], of_type: set[str]) -> SplitProgram:
    """Split a program into groups and the rest; of_type: the attributes that are functions of the word type.

    The bias belongs to the group of offset 0.
    """
    offsets: dict[int, list[int]] = {}
    for number, template in enumerate(templates):
        read = {part.offset for part in template.parts} or {0}
        if len(read) == 1 and {part.attribute for part in template.parts} <= of_type:
            offsets.setdefault(read.pop(), []).append(number)
    chosen = {offset: numbers for offset, numbers in sorted(offsets.items()) if len(numbers) >= MIN_GROUP}
    grouped = [number for numbers in chosen.values() for number in numbers]
    rest = [number for number in range(len(templates)) if number not in grouped]
    starts = np.cumsum([0, *map(len, chosen.values())])
    groups = Groups(np.array(list(chosen), np.int64), starts, select(program, grouped, 0))
    return SplitProgram(groups, select(program, rest))


def select(program: Program, chosen: Sequence[int], offset: int | None = None) -> Program:
    """The chosen templates only, all at the given offset, if any."""
    ranges = [np.arange(program.starts[k], program.starts[k + 1]) for k in chosen]
    parts = np.concatenate([*ranges, np.zeros(0, np.int64)]).astype(np.int64)
    return Program(
        np.cumsum([0, *map(len, ranges)]),
        program.columns[parts],
        program.offsets[parts] if offset is None else np.full(len(parts), offset),
        program.seeds[np.array(chosen, np.int64)],
        program.reals,
    )
