"""Ranges that lie one after the other in a flat array: range k has the members starts[k] … starts[k + 1] − 1.

And the places of numbers in an ascending array.
"""

import numpy as np

from .hashing import ABSENT


def elements(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The members of the chosen ranges, one range after the other, int64."""
    lengths = starts[chosen + 1] - starts[chosen]
    end = np.cumsum(lengths)
    ranges: np.ndarray = np.repeat(starts[chosen] - end + lengths, lengths)
    # In place: members can be many millions.
    ranges += np.arange(len(ranges))
    return ranges


def ranges_of(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The ranges that contain the chosen members, int64, each once."""
    return np.unique(np.searchsorted(starts, chosen, "right") - 1)


def taken_starts(starts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The starts of the chosen ranges when all others are removed, int64."""
    return np.concatenate([[0], np.cumsum(starts[chosen + 1] - starts[chosen])])


def joined_starts(starts: list[np.ndarray]) -> np.ndarray:
    """The starts of several lists of ranges one after the other, int64."""
    end = np.cumsum([0, *(part[-1] for part in starts)])
    return np.concatenate([[0], *(part[1:] + before for part, before in zip(starts, end))]).astype(np.int64)


def places_in(ascending: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The place of each value among ascending numbers, int64; ABSENT where it is none of them."""
    if not len(ascending):
        return np.full(len(values), ABSENT)
    places = np.searchsorted(ascending, values).clip(max=len(ascending) - 1)
    return np.where(ascending[places] == values, places, ABSENT)
