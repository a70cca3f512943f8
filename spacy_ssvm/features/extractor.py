"""The templates of a chain, or of arcs, with their resources, and the reader that turns Docs into columns for them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .arc_program import compile_arc_templates
from .arc_templates import parse_arc_templates
from .columns import ColumnReader
from .gazetteer import read_gazetteer
from .index import Table
from .program import compile_templates, split_program
from .resources import clusters_of, load_clusters
from .sets import FeatureSet
from .templates import parse_templates


class Extractor:
    """Compiled templates and the reader of the columns that they name.

    templates: parsed. reader: Docs → Columns. program: the templates over these columns. split: the same templates, in
    groups. clusters: word key → cluster.

    gazetteers, clusters (arguments): as made by `load_resources`, or as read from a model file and checked.

    Raises:
        ValueError: a template is bad.
    """

    def __init__(self, templates: list[str], gazetteers: dict[str, Any], clusters: dict[str, Any]) -> None:
        self.templates = parse_templates(templates)
        self.clusters = clusters_of(clusters)
        compiled = compile_templates(self.templates)
        tables = {name: Table(*map(np.array, arrays)) for name, arrays in gazetteers.items()}
        self.program = compiled.program
        self.reader = ColumnReader(compiled.attributes, tables, self.clusters)
        self.split = split_program(self.program, self.templates, self.reader.of_type)


def load_resources(features: FeatureSet, words: Callable[[str], np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the feature set's files as the gazetteers and clusters that `Extractor` takes and a model file stores.

    words: turns a gazetteer's phrase into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: a file cannot be read or is malformed.
    """
    gazetteers = {name: list(read_gazetteer(name, path, words)) for name, path in features.gazetteers.items()}
    return gazetteers, load_clusters(features.clusters)


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
