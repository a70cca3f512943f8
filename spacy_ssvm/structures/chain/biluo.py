"""Segments as a chain: BILUO tags as labels, and the rules of BILUO as constraints."""

import math
from enum import IntFlag

import numpy as np

from .constraints import FORBIDDEN, Constraints, with_fixed
from .scored import Lattice, Run

OUTSIDE = 0
"""The label of tokens outside segments."""

BEGIN, INSIDE, LAST, UNIT = 1, 2, 3, 4
"""Positions of a token in its segment; `state` combines them with segment types to labels."""


class Kind(IntFlag):
    """Kinds of tokens, which are row numbers of `Constraints.token`; flags may be combined."""

    FREE = 0
    NO_BEGIN = 1
    """No segment begins here (whitespace)."""
    NO_CONTINUATION = 2
    """No segment continues here from the token before (a sentence start)."""


FIXED = 4
"""Row FIXED + l is the kind of a token whose label must be l."""


def n_states(n_types: int) -> int:
    """The number of chain labels for n_types segment types."""
    return 1 + 4 * n_types


def state(position: int, segment_type: int) -> int:
    """The chain label of BEGIN, INSIDE, LAST or UNIT of a segment type (0 …)."""
    return 4 * segment_type + position


def position_and_type(label: int) -> tuple[int, int]:
    """The position and the segment type of a chain label other than OUTSIDE: the inverse of `state`."""
    segment_type, position = divmod(label - 1, 4)
    return position + 1, segment_type


def continues(labels: np.ndarray) -> np.ndarray:
    """Whether each chain label, or -1 for none, says that a segment continues from the token before, bool [T]."""
    position = (labels - 1) % 4 + 1
    return (labels > 0) & ((position == INSIDE) | (position == LAST))


def biluo_constraints(n_types: int) -> Constraints:
    """The constraints of BILUO: B and I are followed by I or L of their type, all others by O, B or U."""
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
    """(first, end, type) of each segment in a legal sequence of chain labels."""
    found = []
    first = 0
    for token in np.flatnonzero(labels):
        position, segment_type = position_and_type(int(labels[token]))
        if position in (BEGIN, UNIT):
            first = int(token)
        if position in (LAST, UNIT):
            found.append((first, int(token) + 1, segment_type))
    return found


def run(first: int, end: int, segment_type: int) -> Run:
    """The segment of tokens first … end − 1 as a part of a label sequence."""
    length = end - first
    positions = [UNIT] if length == 1 else [BEGIN, *[INSIDE] * (length - 2), LAST]
    return Run(first, tuple(state(position, segment_type) for position in positions))


def type_of(part: Run) -> int:
    """The segment type of a run of chain labels that is a segment."""
    return position_and_type(part.labels[0])[1]


def segments_above(lattice: Lattice, min_value: float) -> list[tuple[Run, float]]:
    """The segments whose probability or margin is at least `min_value`, with that value, in order of position.

    The probability of a segment is that of exactly these tokens with this type. The margin is positive for segments of
    the best sequence only, and ∞ for segments of all sequences. It is exact, because a sequence without the segment has
    another label at one of its tokens. min_value: above 0 for probabilities.
    """
    if lattice.is_sum:
        return [(run(*place), math.exp(value)) for *place, value in _through(lattice, math.log(min_value))]
    found = []
    for *place, value in _through(lattice, min(min_value, 0.0)):
        part = run(*place)
        margin = value - float(lattice.others[np.arange(part.first, part.tokens.stop), list(part.labels)].max())
        if margin >= min_value:
            found.append((part, margin))
    return found


def _through(lattice: Lattice, min_value: float) -> list[tuple[int, int, int, float]]:
    """(first, end, type, value) of the segments with a value of at least `min_value`.

    The value is the log-sum or the maximum over all sequences with the segment, minus `total`. Segments that are ruled
    out are never returned.
    """
    found: list[tuple[int, int, int, float]] = []
    rounding = lattice.rounding
    min_value = max(min_value, FORBIDDEN / 2) - rounding
    tokens, transitions = lattice.scores.tokens, lattice.scores.transitions
    before, after = lattice.before - lattice.total, lattice.after
    for first, label in np.argwhere(before + after >= min_value).tolist():
        if label == OUTSIDE:
            continue
        position, kind = position_and_type(label)
        if position == UNIT:
            found.append((first, first + 1, kind, float(before[first, label] + after[first, label])))
        if position != BEGIN:
            continue
        inside, last, value = state(INSIDE, kind), state(LAST, kind), before[first, label]
        for t in range(first + 1, len(tokens)):
            # All longer segments begin in the same way: none has a larger value.
            if value + after[t - 1, label] < min_value:
                break
            closed = value + transitions[label, last] + tokens[t, last] + after[t, last]
            if closed >= min_value:
                found.append((first, t + 1, kind, float(closed)))
            value += transitions[label, inside] + tokens[t, inside]
            label = inside
    return sorted((first, end, kind, 0.0 if value > -rounding else value) for first, end, kind, value in found)
