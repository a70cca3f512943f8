"""From Docs to columns to hashed arc features: the parser's templates with their resources."""

from typing import Any

from .arc_program import compile_arc_templates
from .arc_templates import parse_arc_templates
from .clusters import clusters_of
from .columns import ColumnReader


class ArcExtractor:
    """Compiled arc templates and the reader of the columns that they name.

    reader: Docs → Columns. program, first_pass: templates over these columns. templates: those of `program`, in its
    order. clusters: word key → cluster.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(self, arcs: list[str], labels: list[str], first_pass: list[str], clusters: dict[str, Any]) -> None:
        compiled = compile_arc_templates(*map(parse_arc_templates, (arcs, labels, first_pass)))
        self.clusters = clusters_of(clusters)
        self.templates = compiled.templates
        self.program = compiled.program
        self.first_pass = compiled.first_pass
        self.reader = ColumnReader(compiled.attributes, {}, self.clusters)
