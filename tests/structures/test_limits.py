"""Chains whose tokens are limited, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.scores import decode_sequences
from spacy_ssvm.structures.chain.constraints import FORBIDDEN, broken, first_fixed, limited, unconstrained, with_fixed

from .enumeration import scores, sequences, tiny_chains, violations


@given(tiny_chains(), st.data())
def test_the_best_of_what_is_left(tiny, data):
    chains, n_labels = tiny.chains, tiny.n_labels
    n_tokens = int(chains.starts[-1])
    chosen = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=n_tokens, max_size=n_tokens)))
    flags = data.draw(st.lists(st.booleans(), min_size=len(chosen) * n_labels, max_size=len(chosen) * n_labels))
    allowed = np.array(flags, np.bool_).reshape(len(chosen), n_labels)
    constraints, kinds = limited(chains.constraints, chains.kinds, chosen, allowed)
    labels = decode_sequences(chains._replace(constraints=constraints, kinds=kinds), tiny.weights)
    breaks = broken(constraints, kinds, chains.starts, labels)
    everywhere = np.ones((n_tokens, n_labels), np.bool_)
    everywhere[chosen] = allowed
    for example in tiny.examples:
        tokens = slice(chains.starts[example], chains.starts[example + 1])
        left = [y for y in sequences(chains, example) if everywhere[tokens][np.arange(len(y)), y].all()]
        assert breaks[tokens].any() == (not left)
        if left:
            found = tuple(labels[tokens].tolist())
            assert found in left
            assert scores(tiny, example, [found])[0] == pytest.approx(scores(tiny, example, left).max(), abs=1e-9)


@given(tiny_chains(), st.data())
def test_broken_tokens(tiny, data):
    chains = tiny.chains
    for example in tiny.examples:
        for y in sequences(chains, example, legal=False)[:30]:
            kinds = chains.kinds[chains.starts[example] : chains.starts[example + 1]]
            found = broken(chains.constraints, kinds, np.array([0, len(y)]), np.array(y, np.int32))
            assert found.any() == (violations(chains, example, y) > 0)


def test_fixed_labels_are_the_last_kinds():
    fixed = with_fixed(unconstrained(3))
    assert first_fixed(fixed) == 1
    assert [np.flatnonzero(row == 0).tolist() for row in fixed.token] == [[0, 1, 2], [0], [1], [2]]
    assert (fixed.token[fixed.token != 0] == FORBIDDEN).all()
