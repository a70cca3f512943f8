"""Compile templates to the arrays that the feature kernels run."""

from dataclasses import dataclass

import numpy as np
from spacy.strings import get_string_id

from .attributes import EXTENSION
from .hashing import Program
from .templates import Template


@dataclass(frozen=True)
class CompiledTemplates:
    """attributes: the name of each column that the program reads; program: the templates over these columns."""

    attributes: tuple[str, ...]
    program: Program


def compile_templates(templates: tuple[Template, ...], attributes: tuple[str, ...] | None = None) -> CompiledTemplates:
    """Number the distinct attributes as columns and write the templates' parts as flat arrays.

    attributes: columns in their order, where they are more than those of the templates.
    A template's hash starts from its own text, so that rows do not depend on its place in the list.
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
