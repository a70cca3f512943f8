"""Chains small enough to enumerate: hypothesis strategies, and every quantity from its definition, in plain Python."""

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.models.chain.data import Chains, dimension, make_chains
from spacy_ssvm.structures.chain.constraints import FORBIDDEN, Constraints

WEIGHTS = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, allow_subnormal=False))
"""Integers make ties."""

VALUES = st.one_of(st.just(1.0), st.floats(-2, 2, width=32, allow_subnormal=False))
COSTS = st.sampled_from([0.0, 0.5, 1.0, 2.25])


@dataclass(frozen=True)
class Tiny:
    """Chains, a weight vector float64 [d], and the numbers of labels and feature rows."""

    chains: Chains
    weights: np.ndarray
    n_labels: int
    n_rows: int

    @property
    def examples(self) -> range:
        return range(len(self.chains.starts) - 1)

    def gold(self, example: int) -> np.ndarray:
        return self.chains.gold[self.chains.starts[example] : self.chains.starts[example + 1]]


@st.composite
def tiny_chains(draw, constrained=True, hamming=False, max_labels=3, max_length=4) -> Tiny:
    """One to three sequences, empty ones among them; gold keeps within the constraints."""
    n_labels, n_rows = draw(st.integers(1, max_labels)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, max_length), min_size=1, max_size=3))
    starts, n_tokens = np.cumsum([0, *lengths]), sum(lengths)
    rows = draw(st.lists(st.lists(st.integers(0, n_rows - 1), max_size=3), min_size=n_tokens, max_size=n_tokens))
    n_features = sum(map(len, rows))
    gold = np.array(_list(draw, st.integers(0, n_labels - 1), n_tokens), np.int32)
    kinds = np.array(_list(draw, st.integers(0, 1), n_tokens), np.int32)
    constraints = (
        _constraints(draw, n_labels, gold, kinds, starts)
        if constrained
        else Constraints(np.zeros(n_labels), np.zeros(n_labels), np.zeros((n_labels,) * 2), np.zeros((2, n_labels)))
    )
    chains = make_chains(
        starts,
        np.cumsum([0, *map(len, rows)]),
        np.array([row for token in rows for row in token], np.int32),
        gold,
        constraints,
        values=np.array(_list(draw, VALUES, n_features)),
        costs=None if hamming else np.array(_list(draw, COSTS, n_tokens)),
        kinds=kinds,
    )
    d = dimension(n_labels, n_rows)
    return Tiny(chains, np.array(_list(draw, WEIGHTS, d)), n_labels, n_rows)


def _list(draw, elements, size):
    return draw(st.lists(elements, min_size=size, max_size=size))


def _constraints(draw, n_labels, gold, kinds, starts) -> Constraints:
    """Each part forbids some entries at random, but none that the gold labels need."""

    def forbidden(*shape: int) -> np.ndarray:
        flags = _list(draw, st.sampled_from([False, False, True]), int(np.prod(shape)))
        return np.where(np.array(flags, np.bool_).reshape(shape), FORBIDDEN, 0.0)

    parts = Constraints(forbidden(n_labels), forbidden(n_labels), forbidden(n_labels, n_labels), forbidden(2, n_labels))
    parts.token[kinds, gold] = 0.0
    for first, end in itertools.pairwise(starts):
        if end > first:
            parts.start[gold[first]] = 0.0
            parts.end[gold[end - 1]] = 0.0
            parts.transition[gold[first : end - 1], gold[first + 1 : end]] = 0.0
    return parts


def sequences(chains: Chains, example: int, legal: bool = True) -> list[tuple[int, ...]]:
    """Every label sequence of an example; with `legal` only those that break no constraint."""
    length = int(chains.starts[example + 1] - chains.starts[example])
    found = itertools.product(range(len(chains.constraints.start)), repeat=length)
    return [y for y in found if not legal or violations(chains, example, y) == 0]


def violations(chains: Chains, example: int, y) -> int:
    """How many constraints a sequence breaks."""
    start, end, transition, token = chains.constraints
    first = chains.starts[example]
    broken = [token[chains.kinds[first + t], label] for t, label in enumerate(y)]
    broken += [transition[i, j] for i, j in itertools.pairwise(y)]
    if len(y):
        broken += [start[y[0]], end[y[-1]]]
    return sum(score != 0 for score in broken)


def joint_feature(chains: Chains, example: int, y, d: int) -> np.ndarray:
    """Φ(x_i, y), float64 [d]."""
    n_labels = len(chains.constraints.start)
    phi = np.zeros(d)
    for i, j in itertools.pairwise(y):
        phi[i * n_labels + j] += 1
    for t, label in enumerate(y):
        token = chains.starts[example] + t
        for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
            phi[n_labels * n_labels + int(chains.rows[f]) * n_labels + label] += chains.values[f]
    return phi


def loss(chains: Chains, example: int, y) -> float:
    """Δ(y_i, y)."""
    first = chains.starts[example]
    return float(sum(chains.costs[first + t] for t, label in enumerate(y) if label != chains.gold[first + t]))


def scores(tiny: Tiny, example: int, ys, loss_scale: float = 0.0) -> np.ndarray:
    """wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) of each sequence in `ys`."""
    return np.array(
        [
            tiny.weights @ joint_feature(tiny.chains, example, y, len(tiny.weights))
            + loss_scale * loss(tiny.chains, example, y)
            for y in ys
        ]
    )
