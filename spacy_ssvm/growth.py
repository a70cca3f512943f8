"""Arrays that grow at their end, equal arrays that are stored once, and ranges that lie in a flat array.

Memory is reserved ahead: many additions copy each item a few times, not each time. Range k of a flat array has the
members starts[k] … starts[k + 1] − 1.
"""

from hashlib import blake2b
from weakref import WeakValueDictionary, finalize

import numpy as np

RESERVE = 4
"""Growing arrays get 1/RESERVE of their length as extra room: memory is in use only once it is written to."""

_LENGTHS: dict[int, int] = {}
"""By the identity of memory with room: the length of the longest array in it."""

_SHARED: WeakValueDictionary[bytes, np.ndarray] = WeakValueDictionary()
"""Arrays that are in use, by a digest."""


def shared(array: np.ndarray) -> np.ndarray:
    """The array [n], or an equal one that is in use already. Its users may append to it, but change no item.

    Components with the same templates that learn from the same Docs have the same features.
    """
    digest = blake2b(f"{array.dtype} ".encode(), digest_size=16)
    digest.update(array.data)
    return _SHARED.setdefault(digest.digest(), array)


def appended(array: np.ndarray, more: np.ndarray) -> np.ndarray:
    """The items of both arrays along the first axis, in the dtype of the first one.

    Replace the array by the result: both may share memory.
    """
    longer = extended(array, len(array) + len(more))
    longer[len(array) :] = more
    return longer


def extended(array: np.ndarray, length: int, used: int | None = None) -> np.ndarray:
    """The array with zeros at its end, [length, …]; as for `appended`, both may share memory.

    Args:
        used: the number of first items that may differ from zero; all by default.
    """
    n = len(array)
    if length == n:
        return array
    memory = array.base
    # If others have a longer array in this memory, its rest is theirs.
    if memory is None or not _is_longest(array) or len(memory) < length:
        memory = _reserved((length + length // RESERVE, *array.shape[1:]), array.dtype)
        memory[: n if used is None else used] = array[:used]
    _LENGTHS[id(memory)] = length
    return memory[:length]


def widened(array: np.ndarray, used: int, width: int) -> np.ndarray:
    """An array [m, ≥ width] that begins with the first `used` columns: itself, if it is wide enough, or a wider one."""
    if array.shape[1] >= width:
        return array
    wider = np.zeros((len(array), width + width // RESERVE), array.dtype)
    wider[:, :used] = array[:, :used]
    return wider


def _reserved(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    memory = np.zeros(shape, dtype)
    finalize(memory, _LENGTHS.pop, id(memory)).atexit = False
    return memory


def _is_longest(array: np.ndarray) -> bool:
    """Whether this array is all of its memory that is in use."""
    memory = array.base
    return (
        isinstance(memory, np.ndarray)
        and _LENGTHS.get(id(memory)) == len(array)
        and (array.dtype, array.shape[1:], array.strides) == (memory.dtype, memory.shape[1:], memory.strides)
    )


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
