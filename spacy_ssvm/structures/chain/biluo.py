"""Segments as a chain: the BILUO scheme as labels, its rules as constraints."""

import math
from enum import IntFlag

import numpy as np

from .constraints import FORBIDDEN, Constraints, with_fixed
from .scored import Lattice, Run

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
    """(first, end, type) of each segment in a legal sequence of chain labels."""
    found = []
    first = 0
    for token in np.flatnonzero(labels):
        position, segment_type = (int(labels[token]) - 1) % 4 + 1, (int(labels[token]) - 1) // 4
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
    """The type of the segment that a run of chain labels is."""
    return (part.labels[0] - 1) // 4


def segments_above(lattice: Lattice, min_value: float) -> list[tuple[Run, float]]:
    """The segments whose probability or margin is `min_value` or more, and that value; by first token.

    A probability is that of exactly these tokens as a segment of this type. The margin is positive for segments of the
    best sequence alone, and ∞ where all sequences have the segment. It is exact: a sequence without the segment has
    another label at one of its tokens. min_value: a probability is above 0.
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
    """(first, end, type, value) of the segments whose sequences come to `min_value` or more, less what all come to.

    Segments that are ruled out are never among them.
    """
    found = []
    rounding = lattice.rounding
    min_value = max(min_value, FORBIDDEN / 2) - rounding
    tokens, transitions = lattice.scores.tokens, lattice.scores.transitions
    before, after = lattice.before - lattice.total, lattice.after
    n_tokens, n_types = len(tokens), (tokens.shape[1] - 1) // 4
    for kind in range(n_types):
        begin, inside, last, unit = (state(position, kind) for position in (BEGIN, INSIDE, LAST, UNIT))
        alone, opened = before[:, unit] + after[:, unit], before[:, begin] + after[:, begin]
        found += [(t, t + 1, kind, float(alone[t])) for t in np.flatnonzero(alone >= min_value).tolist()]
        for first in np.flatnonzero(opened >= min_value).tolist():
            value, label = before[first, begin], begin
            for t in range(first + 1, n_tokens):
                # All longer segments have this beginning: none of them comes to more.
                if value + after[t - 1, label] < min_value:
                    break
                closed = value + transitions[label, last] + tokens[t, last] + after[t, last]
                if closed >= min_value:
                    found.append((first, t + 1, kind, float(closed)))
                value += transitions[label, inside] + tokens[t, inside]
                label = inside
    return sorted((*place, 0.0 if value > -rounding else value) for *place, value in found)
