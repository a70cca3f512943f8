"""Constraints of chains, and limits to the labels of single tokens, against enumeration."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import (
    allowed_labels,
    broken,
    first_fixed,
    limited,
    unconstrained,
    with_attributes,
    with_fixed,
)

from .enumeration import draw_constraints, legal_sequences, listed, violations


@st.composite
def constrained(draw):
    """Constraints, and the kinds of up to four tokens, int32 [T]."""
    n_labels, n_tokens = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    gold = np.array(listed(draw, st.integers(0, n_labels - 1), n_tokens), np.int32)
    kinds = np.array(listed(draw, st.integers(0, 1), n_tokens), np.int32)
    return draw_constraints(draw, n_labels, gold, kinds, [0, n_tokens]), kinds


@given(constrained(), st.data())
def test_limits_leave_the_legal_sequences_that_keep_to_them(given, data):
    constraints, kinds = given
    shape = len(kinds), len(constraints.start)
    chosen = np.flatnonzero(listed(data.draw, st.booleans(), shape[0]))
    allowed = np.array(listed(data.draw, st.booleans(), len(chosen) * shape[1]), np.bool_).reshape(-1, shape[1])
    everywhere = np.ones(shape, np.bool_)
    everywhere[chosen] = allowed
    expected = [y for y in legal_sequences(constraints, kinds) if everywhere[np.arange(len(y)), y].all()]
    before = kinds.copy()
    assert legal_sequences(*limited(constraints, kinds, chosen, allowed)) == expected
    assert kinds.tolist() == before.tolist()


@given(constrained(), st.integers(0, 4))
def test_broken_tokens(given, cut):
    """Of two sequences, one of which may be empty."""
    constraints, kinds = given
    starts = np.array([0, min(cut, len(kinds)), len(kinds)])
    for y in itertools.product(range(len(constraints.start)), repeat=len(kinds)):
        found = broken(constraints, kinds, starts, np.array(y, np.int32))
        for first, end in itertools.pairwise(starts):
            expected = violations(constraints, kinds[first:end], y[first:end])
            assert found[first:end].any() == (expected > 0) and found[first:end].sum() <= expected


def test_fixed_labels_are_the_last_kinds():
    fixed = with_fixed(unconstrained(3))
    assert first_fixed(fixed) == 1
    assert [np.flatnonzero(row == 0).tolist() for row in fixed.token] == [[0, 1, 2], [0], [1], [2]]
    assert (fixed.token[fixed.token != 0] == FORBIDDEN).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 3))
def test_allowed_labels_come_with_the_nodes_on_their_paths(seed, n_labels, n_attributes):
    rng = np.random.default_rng(seed)
    attributes = [n_labels + np.flatnonzero(rng.random(n_attributes) < 0.5) for _ in range(n_labels)]
    free = unconstrained(n_labels + n_attributes)
    limited_kinds = np.where(rng.random((3, n_labels + n_attributes)) < 0.5, 0.0, FORBIDDEN)
    constraints = with_attributes(
        free._replace(token=np.concatenate([free.token, limited_kinds])),
        [*map(np.ndarray.tolist, attributes), *([] for _ in range(n_attributes))],
    )
    allowed = allowed_labels(constraints)

    def nodes_of(label):
        node = constraints.attributes.nodes[label]
        while node >= 0:
            yield int(node)
            node = constraints.attributes.parents[node]

    for kind, token in enumerate(constraints.token):
        labels = allowed.labels[allowed.label_starts[kind] : allowed.label_starts[kind + 1]].tolist()
        nodes = allowed.nodes[allowed.node_starts[kind] : allowed.node_starts[kind + 1]].tolist()
        assert labels == (np.flatnonzero(token == 0).tolist() or list(range(len(token))))
        assert nodes == sorted({node for label in labels for node in nodes_of(label)})
