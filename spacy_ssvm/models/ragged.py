"""Ranges of elements that lie one after the other in flat arrays."""

from collections.abc import Sequence

import numpy as np

from ..features.hashing import Columns


def elements(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The members of these ranges, all starts[k] … starts[k + 1] − 1 one after the other, int64."""
    lengths = starts[chosen + 1] - starts[chosen]
    end = np.cumsum(lengths)
    ranges: np.ndarray = np.arange(lengths.sum()) + np.repeat(starts[chosen] - end + lengths, lengths)
    return ranges


def ranges_of(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The ranges, int64, each once, that these members are in."""
    return np.unique(np.searchsorted(starts, chosen, "right") - 1)


def taken_starts(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Where these ranges start when only they are kept, int64."""
    return np.concatenate([[0], np.cumsum(starts[chosen + 1] - starts[chosen])])


def joined_starts(starts: list[np.ndarray]) -> np.ndarray:
    """The starts of ranges that follow each other, int64."""
    end = np.cumsum([0, *(part[-1] for part in starts)])
    return np.concatenate([[0], *(part[1:] + before for part, before in zip(starts, end))]).astype(np.int64)


def take_columns(columns: Columns, chosen: np.ndarray) -> Columns:
    """Only these sequences, int64, in this order."""
    tokens = elements(columns.starts, chosen)
    return Columns(
        taken_starts(columns.starts, chosen),
        np.ascontiguousarray(columns.keys[:, tokens]),
        np.ascontiguousarray(columns.reals[:, tokens]),
    )


def join_columns(parts: Sequence[Columns]) -> Columns:
    """These columns one after the other."""
    return Columns(
        joined_starts([part.starts for part in parts]),
        np.concatenate([part.keys for part in parts], axis=1),
        np.concatenate([part.reals for part in parts], axis=1),
    )
