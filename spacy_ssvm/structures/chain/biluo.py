"""Segments as a chain: BILUO tags as labels, and the rules of BILUO as constraints."""

import math

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN
from .constraints import Constraints, with_fixed
from .scored import Margins, Probabilities, Run

OUTSIDE = 0
"""The label of tokens outside segments."""

BEGIN, INSIDE, LAST, UNIT = 1, 2, 3, 4
"""Positions of a token in its segment; `state` combines them with segment types to labels."""


FREE, NO_CONTINUATION, FIXED = 0, 1, 2
"""Kinds of tokens, which are row numbers of `Constraints.token`: without limits; at a sentence start, where no segment
continues from the token before; and, FIXED + l, with the fixed label l."""


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
    """Whether each chain label, or -1 for none, continues a segment from the token before, bool [T]."""
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
    token = np.zeros((FIXED, n))
    token[NO_CONTINUATION, continues] = FORBIDDEN
    start, end = np.where(continues, FORBIDDEN, 0.0), np.where(opens, FORBIDDEN, 0.0)
    return with_fixed(Constraints(start, end, np.where(allowed, 0.0, FORBIDDEN), token))


def segments(labels: np.ndarray) -> list[tuple[int, int, int]]:
    """(first, end, type) of each segment in a legal sequence of chain labels."""
    triples = []
    first = 0
    for token in np.flatnonzero(labels):
        position, segment_type = position_and_type(int(labels[token]))
        if position in (BEGIN, UNIT):
            first = int(token)
        if position in (LAST, UNIT):
            triples.append((first, int(token) + 1, segment_type))
    return triples


def run(first: int, end: int, segment_type: int) -> Run:
    """The segment of tokens first … end − 1 as a part of a label sequence."""
    length = end - first
    positions = [UNIT] if length == 1 else [BEGIN, *[INSIDE] * (length - 2), LAST]
    return Run(first, tuple(state(position, segment_type) for position in positions))


def type_of(part: Run) -> int:
    """The segment type of a run of chain labels that is a segment."""
    return position_and_type(part.labels[0])[1]


def segments_above(measures: Probabilities | Margins, min_value: float) -> list[tuple[Run, float]]:
    """The segments whose probability or margin is at least `min_value`, with that value, in order of position.

    The probability is for exactly these tokens with this type. The margin is positive for segments of the best sequence
    only, and ∞ for segments of all sequences. It is exact, because a sequence without the segment has another label at
    one of its tokens. min_value: above 0 for probabilities.
    """
    lattice = measures.lattice
    if isinstance(measures, Probabilities):
        lowest = math.log(min_value) if lattice.in_logs else min_value
        values = sorted(_segments(*lattice, lowest))
        return [(run(*place), math.exp(value) if lattice.in_logs else value) for *place, value in values]
    margins = []
    for *place, value in sorted(_segments(*lattice, min(min_value, 0.0))):
        part = run(*place)
        margin = value - float(measures.others[np.arange(part.first, part.tokens.stop), list(part.labels)].max())
        if margin >= min_value:
            margins.append((part, margin))
    return margins


@kernel
def _segments(tokens, transitions, before, after, total, rounding, in_logs, min_value):
    """[(first, end, type, value), …] of the segments with a value of at least `min_value`, in any order.

    The value, by a `Lattice`, covers all sequences with the segment; in logs, it is less `total`. Segments that are
    ruled out are never returned.
    """
    length, n_labels = tokens.shape
    lowest = max(min_value, FORBIDDEN / 2) - rounding if in_logs else min_value * (1.0 - rounding)
    shift, largest = (total, 0.0) if in_logs else (0.0, total)
    listed = [(0, 0, 0, 0.0) for _ in range(0)]
    for first in range(length):
        for begin in range(BEGIN, n_labels, 4):
            kind, inside, last, unit = begin // 4, begin + INSIDE - BEGIN, begin + LAST - BEGIN, begin + UNIT - BEGIN
            value = _times(before[first, unit], after[first, unit], in_logs) - shift
            if value >= lowest:
                listed.append((first, first + 1, kind, largest if value > largest - rounding else value))
            label, value = begin, before[first, begin] - shift
            for t in range(first + 1, length):
                # All longer segments begin in the same way: none has a larger value.
                if _times(value, after[t - 1, label], in_logs) < lowest:
                    break
                step = _times(transitions[label, last], tokens[t, last], in_logs)
                closed = _times(_times(value, step, in_logs), after[t, last], in_logs)
                if closed >= lowest:
                    listed.append((first, t + 1, kind, largest if closed > largest - rounding else closed))
                value = _times(value, transitions[label, inside], in_logs)
                value, label = _times(value, tokens[t, inside], in_logs), inside
    return listed


@kernel
def _times(value, factor, in_logs):
    return value + factor if in_logs else value * factor
