"""Compile templates to arrays, and separate templates that read a single word type from the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from spacy.strings import get_string_id

from .attributes import EXTENSION
from .index import Program
from .templates import Template


@dataclass(frozen=True)
class CompiledTemplates:
    """Compiled templates: attributes, the name of each column that the program reads; program, over these columns."""

    attributes: tuple[str, ...]
    program: Program


def compile_templates(templates: tuple[Template, ...], attributes: tuple[str, ...] | None = None) -> CompiledTemplates:
    """Number the distinct attributes as columns and write the templates' parts as flat arrays.

    Args:
        attributes: the columns, in order, if there are more than the templates have. A template's hash state is seeded
            by its text, so that rows do not depend on its position in the list.
    """
    if attributes is None:
        attributes = tuple(dict.fromkeys(part.attribute for template in templates for part in template.parts))
    extensions = [name for name in attributes if name.startswith(EXTENSION)]
    parts = [part for template in templates for part in template.parts]
    program = Program(
        np.cumsum([0, *(len(template.parts) for template in templates)]),
        np.array([attributes.index(part.attribute) for part in parts], np.int64),
        np.array([part.offset for part in parts], np.int64),
        np.array([get_string_id(str(template)) for template in templates], np.uint64),
        np.array([extensions.index(name) if name in extensions else -1 for name in attributes], np.int64),
    )
    return CompiledTemplates(attributes, program)


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
