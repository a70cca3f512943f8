"""The templates of a chain, or of arcs, with their resources, and the reader that turns Docs into columns for them."""

from typing import Any

import numpy as np

from .arc_program import compile_arc_templates
from .arc_templates import parse_arc_templates
from .columns import ColumnReader
from .gazetteer import unpack
from .index import Table
from .program import compile_templates, split_program
from .templates import parse_templates
from .word_classes import WordClasses


class Extractor:
    """Compiled templates and the reader of the columns that they name.

    templates: parsed. reader: Docs → Columns. program: the templates over these columns. split: the same templates, in
    groups. classes: those of words.

    gazetteers, classes (arguments): as `resources` makes them, or as read from a model file and checked.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(self, templates: list[str], gazetteers: dict[str, Any], classes: dict[str, Any]) -> None:
        self.templates = parse_templates(templates)
        self.classes = WordClasses(classes)
        compiled = compile_templates(self.templates)
        self.program = compiled.program
        self.reader = ColumnReader(compiled.attributes, _tables(gazetteers), self.classes)
        self.split = split_program(self.program, self.templates, self.reader.of_type)


class ArcExtractor:
    """Compiled arc templates and the reader of the columns that they name.

    reader: Docs → Columns. program, first_pass: templates over these columns. templates: those of `program`, in its
    order. classes: those of words.

    gazetteers, classes (arguments): as `resources` makes them, or as read from a model file and checked.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(
        self,
        arcs: list[str],
        labels: list[str],
        first_pass: list[str],
        gazetteers: dict[str, Any],
        classes: dict[str, Any],
    ) -> None:
        compiled = compile_arc_templates(*map(parse_arc_templates, (arcs, labels, first_pass)))
        self.classes = WordClasses(classes)
        self.templates = compiled.templates
        self.program = compiled.program
        self.first_pass = compiled.first_pass
        self.reader = ColumnReader(compiled.attributes, _tables(gazetteers), self.classes)


def _tables(gazetteers: dict[str, Any]) -> dict[str, Table]:
    # Earlier versions store the arrays of a table.
    return {
        name: unpack(stored) if isinstance(stored, bytes) else Table(*map(np.array, stored))
        for name, stored in gazetteers.items()
    }
