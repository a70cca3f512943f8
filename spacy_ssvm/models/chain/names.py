"""The names of features, collected from the Docs of training: they are hashed before anyone else sees them."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc

from ...features.extractor import Extractor
from ...features.hashing import Columns
from ...features.index import add_features, empty_table, row_keys
from ...features.names import Source, feature_name
from ...features.program import select

BETWEEN = " | "
"""Stands between the names of features that share a row."""


class FeatureNames:
    """Names by the keys of rows; known: those to begin with."""

    def __init__(self, known: dict[int, str]) -> None:
        self._known = known

    def add(self, docs: Sequence[Doc], columns: Columns, extractor: Extractor, hash_bits: int) -> None:
        """Add the names of all features of these Docs. hash_bits: 0 for an exact index."""
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
                self._add(key, feature_name(template, sources[doc], token))

    def of_rows(self, keys: np.ndarray) -> tuple[str, ...]:
        """The name of each row, empty where it is not known; keys: uint64 [R]."""
        return tuple(self._known.get(key, "") for key in keys.tolist())

    def _add(self, key: int, name: str) -> None:
        before = self._known.setdefault(key, name)
        if before != name and name not in before.split(BETWEEN):
            self._known[key] = f"{before}{BETWEEN}{name}"
