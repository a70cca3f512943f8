"""How sure segments are: what the sequences of BILUO labels that have one come to, and those that do not."""

from typing import NamedTuple

import numpy as np

from .biluo import BEGIN, INSIDE, LAST, UNIT, state
from .data import FORBIDDEN
from .potentials import Lattice, best_of_others


class Segment(NamedTuple):
    """Tokens first … end − 1, of a segment type, and what is said of them."""

    first: int
    end: int
    type: int
    value: float


def segments_through(lattice: Lattice, min_value: float) -> list[Segment]:
    """The segments whose sequences come to `min_value` or more, less what all come to; by first token.

    Those that are ruled out are never among them.

    lattice: of log-sums, where the value is the log of the segment's marginal, or of maxima.
    """
    found = []
    rounding = lattice.rounding
    min_value = max(min_value, FORBIDDEN / 2) - rounding
    tokens, transitions = lattice.potentials.tokens, lattice.potentials.transitions
    before, after = lattice.before - lattice.total, lattice.after
    n_tokens, n_types = len(tokens), (tokens.shape[1] - 1) // 4
    for kind in range(n_types):
        begin, inside, last, unit = (state(position, kind) for position in (BEGIN, INSIDE, LAST, UNIT))
        alone, opened = before[:, unit] + after[:, unit], before[:, begin] + after[:, begin]
        found += [Segment(t, t + 1, kind, float(alone[t])) for t in np.flatnonzero(alone >= min_value).tolist()]
        for first in np.flatnonzero(opened >= min_value).tolist():
            value, label = before[first, begin], begin
            for t in range(first + 1, n_tokens):
                # All longer segments have this beginning: none of them comes to more.
                if value + after[t - 1, label] < min_value:
                    break
                closed = value + transitions[label, last] + tokens[t, last] + after[t, last]
                if closed >= min_value:
                    found.append(Segment(first, t + 1, kind, float(closed)))
                value += transitions[label, inside] + tokens[t, inside]
                label = inside
    return sorted(one._replace(value=0.0) if one.value > -rounding else one for one in found)


def segment_margins(lattice: Lattice, min_value: float) -> list[Segment]:
    """The margin of each segment where it is `min_value` or more: the best sequence with it less the best without it.

    Exact: a sequence that does not have the segment has another label at one of its tokens. Positive for segments of
    the best sequence alone; ∞ where all sequences have it. lattice: of maxima.
    """
    others = best_of_others(lattice.through())
    found = []
    for segment in segments_through(lattice, min(min_value, 0.0)):
        margin = segment.value - float(others[np.arange(segment.first, segment.end), _labels(segment)].max())
        if margin >= min_value:
            found.append(segment._replace(value=margin))
    return found


def _labels(segment: Segment) -> np.ndarray:
    """The BILUO labels of a segment's tokens."""
    length = segment.end - segment.first
    positions = [UNIT] if length == 1 else [BEGIN, *[INSIDE] * (length - 2), LAST]
    return np.array([state(position, segment.type) for position in positions])
