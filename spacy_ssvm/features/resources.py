"""Word clusters, such as Brown clusters, and checks of the clusters and gazetteers in a model file.

A cluster is a string for each word; its prefixes are coarser clusters.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id


def read_clusters(path: Path) -> dict[int, str]:
    """Read lines "cluster<TAB>word" into word key → cluster; further columns are ignored.

    Raises:
        ValueError: the file cannot be read, a line has no tab, or there is no line.
    """
    clusters: dict[int, str] = {}
    try:
        lines = path.read_text(encoding="utf8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"features.clusters: cannot read {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise ValueError(f'features.clusters: line {number} of {path} is not "cluster<TAB>word": {line[:80]!r}')
        clusters[int(get_string_id(columns[1]))] = columns[0]
    if not clusters:
        raise ValueError(f"features.clusters: {path} is empty")
    return clusters


def load_clusters(path: Path | None) -> dict[str, Any]:
    """The clusters of a file as plain arrays for a model file; empty without a file.

    Raises:
        ValueError: the file cannot be read or is malformed.
    """
    if path is None:
        return {}
    clusters = read_clusters(path)
    return {"words": np.array(list(clusters), np.uint64), "names": list(clusters.values())}


def clusters_of(arrays: dict[str, Any]) -> dict[int, str]:
    """The arrays of `load_clusters` as a mapping, word key → cluster."""
    return {int(word): name for word, name in zip(arrays.get("words", []), arrays.get("names", []))}


def cluster_of(clusters: dict[int, str], lexeme: Lexeme) -> str | None:
    """A word's cluster, looked up by the word as written, then lower-cased."""
    return clusters.get(lexeme.orth) or clusters.get(lexeme.lower)


def cluster_key(clusters: dict[int, str], lexeme: Lexeme, prefix: int) -> int:
    """The key of the first `prefix` characters of a word's cluster, or of the whole cluster with prefix = 0."""
    cluster = cluster_of(clusters, lexeme)
    if cluster is None:
        return 0
    return int(get_string_id(cluster[:prefix] if prefix else cluster))


def check_gazetteers(stored: Mapping[str, Any]) -> None:
    """Check gazetteers from a model file, so that no kernel can leave the arrays' bounds or loop for ever.

    stored: name → keys uint64 [n], rows int32 [n] and counts int64 [2] of a table, n a power of two.

    Raises:
        ValueError: `read_gazetteer` does not make such a table.
    """
    for name, arrays in stored.items():
        tables = [array for array in arrays if isinstance(array, np.ndarray)]
        slots = len(tables[0]) if tables and tables[0].ndim else 0
        kinds = [(array.dtype, array.shape) for array in tables]
        expected = [(np.dtype(np.uint64), (slots,)), (np.dtype(np.int32), (slots,)), (np.dtype(np.int64), (2,))]
        if (
            len(arrays) != 3
            or kinds != expected
            or slots & (slots - 1)
            or not (tables[0] == 0).any()
            or tables[2][1] != 0
        ):
            raise ValueError(f'the model file has a damaged gazetteer "{name}"')


def check_clusters(stored: Mapping[str, Any]) -> None:
    """Check clusters from a model file: words, uint64 [n], and n names, or nothing at all.

    Raises:
        ValueError: `load_clusters` does not make such arrays.
    """
    if stored == {}:
        return
    words, names = stored["words"], stored["names"]
    if (
        not isinstance(words, np.ndarray)
        or words.dtype != np.uint64
        or words.shape != (len(names),)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError("the model file has damaged clusters")
