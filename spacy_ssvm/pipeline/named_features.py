"""Names for the features that Docs have: they are hashed before anyone else sees them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc

from ..features.extractor import Extractor
from ..features.hashing import Columns
from ..features.index import add_features, empty_table, row_keys
from ..features.names import Source, feature_name
from ..features.type_templates import select

BETWEEN = " | "
"""Stands between the names of features that share a row."""


def named_features(
    docs: Sequence[Doc], columns: Columns, extractor: Extractor, hash_bits: int
) -> Iterator[tuple[int, str]]:
    """The key of its row and the name of each feature of these Docs, each once.

    columns: of these Docs. hash_bits: 0 for an exact index.
    """
    attributes, clusters = extractor.reader.attributes, extractor.clusters
    sources = [
        Source(doc, attributes, columns.keys[:, first:end], clusters)
        for doc, (first, end) in zip(docs, pairwise(columns.starts.tolist()))
    ]
    for number, template in enumerate(extractor.templates):
        table, starts, rows, _ = add_features(columns, select(extractor.program, [number]), empty_table())
        _, places = np.unique(rows, return_index=True)
        tokens = np.searchsorted(starts, places, side="right") - 1
        keys = row_keys(table)
        if hash_bits:
            keys = (keys & np.uint64((1 << hash_bits) - 1)) + np.uint64(1)
        of_docs = np.searchsorted(columns.starts, tokens, side="right") - 1
        in_docs = tokens - columns.starts[of_docs]
        for key, doc, token in zip(keys.tolist(), of_docs.tolist(), in_docs.tolist()):
            yield key, feature_name(template, sources[doc], token)


def add_names(known: dict[int, str], found: Iterator[tuple[int, str]]) -> None:
    """Add names to those that are known, by the key of their row."""
    for key, name in found:
        before = known.setdefault(key, name)
        if before != name and name not in before.split(BETWEEN):
            known[key] = f"{before}{BETWEEN}{name}"


def names_of(keys: np.ndarray, known: Mapping[int, str]) -> tuple[str, ...]:
    """The name of each row, empty where it is not known; keys: uint64 [R]."""
    return tuple(known.get(key, "") for key in keys.tolist())
