"""Segments as a chain: the BILUO scheme as labels, its rules as constraints."""

from enum import IntFlag

import numpy as np

from .data import FORBIDDEN, Constraints
from .limits import with_fixed

OUTSIDE = 0
BEGIN, INSIDE, LAST, UNIT = 1, 2, 3, 4


class Kind(IntFlag):
    """Kinds of tokens, rows of `Constraints.token`; flags may be combined."""

    FREE = 0
    NO_BEGIN = 1
    """No segment begins here (whitespace)."""
    NO_CONTINUATION = 2
    """No segment continues here from the token before (a sentence start)."""


FIXED = 4
"""Row FIXED + l is the kind of a token whose label must be l."""


def n_states(n_types: int) -> int:
    """Number of chain labels for so many segment types."""
    return 1 + 4 * n_types


def state(position: int, segment_type: int) -> int:
    """The chain label of BEGIN, INSIDE, LAST or UNIT of a segment type (0 …)."""
    return 4 * segment_type + position


def biluo_constraints(n_types: int) -> Constraints:
    """What BILUO allows: B and I are followed by I or L of their type, all others by O, B or U."""
    n = n_states(n_types)
    position = np.array([0, *np.tile([BEGIN, INSIDE, LAST, UNIT], n_types)])
    segment_type = np.array([-1, *np.repeat(np.arange(n_types), 4)])
    opens = (position == BEGIN) | (position == INSIDE)
    continues = (position == INSIDE) | (position == LAST)
    same = segment_type[:, None] == segment_type[None, :]
    allowed = np.where(opens[:, None], continues[None, :] & same, ~continues[None, :])
    begins = (position == BEGIN) | (position == UNIT)
    token = np.zeros((FIXED, n))
    for kind in range(FIXED):
        if kind & Kind.NO_BEGIN:
            token[kind, begins] = FORBIDDEN
        if kind & Kind.NO_CONTINUATION:
            token[kind, continues] = FORBIDDEN
    start, end = np.where(continues, FORBIDDEN, 0.0), np.where(opens, FORBIDDEN, 0.0)
    return with_fixed(Constraints(start, end, np.where(allowed, 0.0, FORBIDDEN), token))


def segments(labels: np.ndarray) -> list[tuple[int, int, int]]:
    """(first, behind, type) of each segment in a legal sequence of chain labels."""
    found = []
    first = 0
    for token in np.flatnonzero(labels):
        position, segment_type = (int(labels[token]) - 1) % 4 + 1, (int(labels[token]) - 1) // 4
        if position in (BEGIN, UNIT):
            first = int(token)
        if position in (LAST, UNIT):
            found.append((first, int(token) + 1, segment_type))
    return found
