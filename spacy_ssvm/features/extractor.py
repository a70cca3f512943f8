"""From Docs to columns to feature rows: one component's templates with their resources."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .clusters import clusters_of, load_clusters
from .columns import ColumnReader
from .gazetteer import read_gazetteer
from .hashing import Table
from .program import compile_templates
from .sets import FeatureSet
from .templates import parse_templates
from .type_templates import split_program


class Extractor:
    """Compiled templates and the reader of the columns that they name.

    reader: Docs → Columns. program: the templates over these columns. split: the same, in groups.

    Raises:
        ValueError: a template is bad, or a gazetteer is none that `load_resources` has made.
    """

    def __init__(self, templates: list[str], gazetteers: dict[str, Any], clusters: dict[str, Any]) -> None:
        parsed = parse_templates(templates)
        compiled = compile_templates(parsed)
        tables = {name: _checked_table(name, arrays) for name, arrays in gazetteers.items()}
        self.program = compiled.program
        self.reader = ColumnReader(compiled.attributes, tables, clusters_of(clusters))
        self.split = split_program(self.program, parsed, self.reader.of_type)


def _checked_table(name: str, arrays: Sequence[np.ndarray]) -> Table:
    """A gazetteer's table; what would lead a kernel out of bounds, or round in circles, is refused."""
    keys, rows, counts = (np.array(array) for array in arrays)
    slots = len(keys)
    if (
        [keys.dtype, rows.dtype, counts.dtype] != [np.dtype(np.uint64), np.dtype(np.int32), np.dtype(np.int64)]
        or (keys.shape, rows.shape, counts.shape) != ((slots,), (slots,), (2,))
        or slots & (slots - 1)
        or not (keys == 0).any()
        or counts[1] != 0
    ):
        raise ValueError(f'the model file has a damaged gazetteer "{name}"')
    return Table(keys, rows, counts)


def load_resources(features: FeatureSet, words: Callable[[str], np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the feature set's files into what `Extractor` takes and a model file keeps.

    words: turns a gazetteer's phrase into uint64 keys of its lower-cased tokens.

    Raises:
        ValueError: a file cannot be read or is malformed.
    """
    gazetteers = {name: list(read_gazetteer(name, path, words)) for name, path in features.gazetteers.items()}
    return gazetteers, load_clusters(features.clusters)
