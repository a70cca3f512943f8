"""The templates of a chain, or of arcs, with their resources, and the reader that turns Docs into columns for them."""

from typing import Any, NamedTuple

from .arc_program import compile_arc_templates
from .arc_templates import parse_arc_templates
from .attributes import DOCUMENT_LABEL
from .columns import ColumnReader
from .gazetteer import unpack_gazetteer
from .index import Program, Table
from .templates import SplitProgram, attributes_of, compile_templates, parse_templates, reads, select, split_program
from .word_classes import WordClasses


class FirstPassParts(NamedTuple):
    """The templates and columns that a first pass reads, and the column that it writes.

    Attributes:
        program, split: the templates that do not read DOCUMENT_LABEL.
        words: the column with lower-cased words.
        marks: the column of DOCUMENT_LABEL.
    """

    program: Program
    split: SplitProgram
    words: int
    marks: int


class Extractor:
    """Compiled templates and the reader of the columns that they name.

    Args:
        templates: the texts of templates.
        gazetteers, classes: as `resources` makes them, or as read from a model file and checked.

    Attributes:
        templates: parsed.
        classes: word classes.
        reader: Docs → Columns.
        program: the templates over these columns.
        split: the same templates, in groups.
        first_pass: None if no template reads DOCUMENT_LABEL.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(self, templates: list[str], gazetteers: dict[str, bytes], classes: dict[str, Any]) -> None:
        self.templates = parse_templates(templates)
        self.classes = WordClasses(classes)
        labelled = [number for number, template in enumerate(self.templates) if reads(template, DOCUMENT_LABEL)]
        attributes = attributes_of(self.templates)
        attributes += ["lower"] if labelled and "lower" not in attributes else []
        self.reader = ColumnReader(attributes, _tables(gazetteers), self.classes)
        self.program = compile_templates(self.templates, self.reader.attributes)
        self.split = split_program(self.program, self.templates, self.reader.of_type)
        self.first_pass: FirstPassParts | None = None
        if labelled:
            others = [number for number in range(len(self.templates)) if number not in labelled]
            program = select(self.program, others)
            split = split_program(program, [self.templates[number] for number in others], self.reader.of_type)
            words, marks = map(self.reader.attributes.index, ("lower", DOCUMENT_LABEL))
            self.first_pass = FirstPassParts(program, split, words, marks)


class ArcExtractor:
    """Compiled arc templates and the reader of the columns that they name.

    Args:
        gazetteers, classes: as `resources` makes them, or as read from a model file and checked.

    Attributes:
        reader: Docs → Columns.
        program, first_pass: templates over these columns.
        templates: of `program`, in its order.
        classes: word classes.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(
        self,
        arcs: list[str],
        labels: list[str],
        first_pass: list[str],
        gazetteers: dict[str, bytes],
        classes: dict[str, Any],
    ) -> None:
        compiled = compile_arc_templates(*map(parse_arc_templates, (arcs, labels, first_pass)))
        self.classes = WordClasses(classes)
        self.templates = compiled.templates
        self.program = compiled.program
        self.first_pass = compiled.first_pass
        self.reader = ColumnReader(compiled.attributes, _tables(gazetteers), self.classes)


def _tables(gazetteers: dict[str, bytes]) -> dict[str, Table]:
    return {name: unpack_gazetteer(stored) for name, stored in gazetteers.items()}
