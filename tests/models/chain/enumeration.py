"""Chains small enough to enumerate: hypothesis strategies, and every quantity from its definition, in plain Python."""

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from spacy_ssvm.models.chain.data import Chains, dimension, make_chains
from spacy_ssvm.models.chain.layouts import value_of
from spacy_ssvm.structures.chain.constraints import Constraints, unconstrained, with_attributes

from ...structures.enumeration import draw_constraints, legal_sequences, listed

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

    def of(self, example: int, array: np.ndarray) -> np.ndarray:
        """The entries of an example in an array of all tokens."""
        return array[slice(*self.chains.starts[example : example + 2])]

    def gold(self, example: int) -> np.ndarray:
        return self.of(example, self.chains.gold)

    def planes(self, example: int) -> tuple[np.ndarray, np.ndarray]:
        """ΔΦ [Y, d] and Δ [Y] of every legal sequence."""
        d, ys = len(self.weights), sequences(self.chains, example)
        gold = joint_feature(self.chains, example, self.gold(example), d)
        differences = np.array([gold - joint_feature(self.chains, example, y, d) for y in ys])
        return differences, np.array([loss(self.chains, example, y) for y in ys])


@st.composite
def tiny_chains(draw, constrained=True) -> Tiny:
    """One to three sequences of up to four tokens, empty ones among them; gold keeps within the constraints.

    Some of the labels are attributes of others, unless there are no constraints.
    """
    n_proper, n_rows = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_labels = n_proper + draw(st.integers(0, 2)) * constrained
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    starts, n_tokens = np.cumsum([0, *lengths]), sum(lengths)
    rows = listed(draw, st.lists(st.integers(0, n_rows - 1), max_size=3), n_tokens)
    gold = np.array(listed(draw, st.integers(0, n_proper - 1), n_tokens), np.int32)
    kinds = np.array(listed(draw, st.integers(0, 1), n_tokens), np.int32) * constrained
    constraints = unconstrained(n_labels)
    if constrained:
        constraints = draw_constraints(draw, n_labels, gold, kinds, starts)
    if n_labels > n_proper:
        some = st.sets(st.integers(n_proper, n_labels - 1)).map(sorted)
        attributes = [*listed(draw, some, n_proper), *([] for _ in range(n_proper, n_labels))]
        constraints = with_attributes(constraints, attributes)
    chains = make_chains(
        starts,
        np.cumsum([0, *map(len, rows)]),
        np.array([row for token in rows for row in token], np.int32),
        gold,
        constraints,
        values=np.array(listed(draw, VALUES, sum(map(len, rows)))),
        costs=np.array(listed(draw, COSTS, n_tokens)),
        kinds=kinds,
    )
    d = dimension(n_labels, n_rows)
    return Tiny(chains, np.array(listed(draw, WEIGHTS, d)), n_labels, n_rows)


def sequences(chains: Chains, example: int) -> list[tuple[int, ...]]:
    """Every label sequence of an example that breaks no constraint."""
    return legal_sequences(chains.constraints, chains.kinds[slice(*chains.starts[example : example + 2])])


def attributes_of(constraints: Constraints, label: int) -> list[int]:
    nodes, parents, labels = constraints.attributes
    node, found = nodes[label] if len(nodes) else -1, []
    while node >= 0:
        found.append(labels[node])
        node = parents[node]
    return found


def joint_feature(chains: Chains, example: int, y, d: int) -> np.ndarray:
    """Φ(x_i, y), float64 [d]."""
    n_labels = len(chains.constraints.start)
    phi = np.zeros(d)
    for i, j in itertools.pairwise(y):
        phi[i * n_labels + j] += 1
    for token, label in enumerate(y, chains.starts[example]):
        for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
            for weighted in (label, *attributes_of(chains.constraints, label)):
                phi[n_labels * n_labels + int(chains.rows[f]) * n_labels + weighted] += value_of(chains.values, f)
    return phi


def loss(chains: Chains, example: int, y) -> float:
    """Δ(y_i, y)."""
    tokens = enumerate(y, chains.starts[example])
    return float(sum(chains.costs[token] for token, label in tokens if label != chains.gold[token]))


def scores(tiny: Tiny, example: int, ys, loss_scale: float = 0.0) -> np.ndarray:
    """wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) of each sequence in `ys`."""
    chains, w = tiny.chains, tiny.weights
    of_features = [w @ joint_feature(chains, example, y, len(w)) for y in ys]
    return np.array(of_features) + loss_scale * np.array([loss(chains, example, y) for y in ys])
