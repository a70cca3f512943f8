"""Word clusters, such as Brown clusters: a string for each word, of which prefixes are coarser clusters."""

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
    """The clusters of a file as plain arrays that a model file keeps; empty where there is no file.

    Raises:
        ValueError: the file cannot be read or is malformed.
    """
    if path is None:
        return {}
    clusters = read_clusters(path)
    return {"words": np.array(list(clusters), np.uint64), "names": list(clusters.values())}


def clusters_of(arrays: dict[str, Any]) -> dict[int, str]:
    """What `load_clusters` has made, as word key → cluster."""
    return {int(word): name for word, name in zip(arrays.get("words", []), arrays.get("names", []))}


def cluster_of(clusters: dict[int, str], lexeme: Lexeme) -> str | None:
    """A word's cluster, looked up as written, then lower-cased."""
    return clusters.get(lexeme.orth) or clusters.get(lexeme.lower)


def cluster_key(clusters: dict[int, str], lexeme: Lexeme, prefix: int) -> int:
    """Key of the first `prefix` characters of a word's cluster; 0: all of them."""
    cluster = cluster_of(clusters, lexeme)
    if cluster is None:
        return 0
    return int(get_string_id(cluster[:prefix] if prefix else cluster))
