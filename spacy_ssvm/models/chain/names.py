"""The names of features: what a model file keeps of them, and how they are read from Docs."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import srsly
from spacy.tokens import Doc

from ...features.extractor import Extractor
from ...features.hashing import Columns
from ...features.index import add_features, empty_table, row_keys
from ...features.names import Source, feature_name
from ...features.type_templates import select
from ..store import DamagedModel, require

MAX_NAME = 200
"""Characters of a name that are kept."""


def pack_names(names: Sequence[str]) -> np.ndarray:
    """One name for each row of weights as bytes, uint8."""
    return np.frombuffer(zlib.compress(srsly.msgpack_dumps([name[:MAX_NAME] for name in names])), np.uint8)


def unpack_names(packed: object, n_rows: int) -> tuple[str, ...]:
    """What `pack_names` has packed.

    Raises:
        DamagedModel: the bytes are damaged, or there are not as many names as rows.
    """
    complaint = "the names of its features are damaged"
    if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8 or packed.ndim != 1:
        raise DamagedModel(complaint)
    inflate = zlib.decompressobj()
    # In UTF-8 a character is at most four bytes, and before each string there are at most five.
    max_bytes = n_rows * (4 * MAX_NAME + 5) + 5
    try:
        names = srsly.msgpack_loads(inflate.decompress(packed.tobytes(), max_bytes + 1))
    except Exception as error:
        # Whatever the reader of msgpack makes of garbage.
        raise DamagedModel(f"{complaint}: {error}") from None
    whole = inflate.eof and not inflate.unused_data
    require(whole and isinstance(names, list) and all(isinstance(name, str) for name in names), complaint)
    require(len(names) == n_rows, "its features and their names are not as many")
    return tuple(names)


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
