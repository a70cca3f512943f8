"""Label sequences short enough to enumerate, and random constraints that leave some of them."""

import itertools

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import Constraints

dear = settings(max_examples=settings.default.max_examples * 2 // 5)
"""For tests that enumerate all structures of an example, of several kinds each."""


def listed(draw, elements, size: int) -> list:
    return draw(st.lists(elements, min_size=size, max_size=size))


def draw_constraints(draw, n_labels: int, gold, kinds, starts) -> Constraints:
    """Each part forbids some entries at random, but none that the gold labels need. There are two kinds of tokens."""

    def forbidden(*shape: int) -> np.ndarray:
        flags = listed(draw, st.sampled_from([False, False, True]), int(np.prod(shape)))
        return np.where(np.array(flags, np.bool_).reshape(shape), FORBIDDEN, 0.0)

    parts = Constraints(forbidden(n_labels), forbidden(n_labels), forbidden(n_labels, n_labels), forbidden(2, n_labels))
    parts.token[kinds, gold] = 0.0
    for first, end in itertools.pairwise(starts):
        if end > first:
            parts.start[gold[first]] = parts.end[gold[end - 1]] = 0.0
            parts.transition[gold[first : end - 1], gold[first + 1 : end]] = 0.0
    return parts


def violations(constraints: Constraints, kinds, y) -> int:
    """How many constraints a sequence of tokens of these kinds breaks."""
    broken = [constraints.token[kind, label] for kind, label in zip(kinds, y)]
    broken += [constraints.transition[i, j] for i, j in itertools.pairwise(y)]
    if len(y):
        broken += [constraints.start[y[0]], constraints.end[y[-1]]]
    return sum(score != 0 for score in broken)


def legal_sequences(constraints: Constraints, kinds) -> list[tuple[int, ...]]:
    """Every label sequence that breaks no constraint."""
    every = itertools.product(range(len(constraints.start)), repeat=len(kinds))
    return [y for y in every if violations(constraints, kinds, y) == 0]
