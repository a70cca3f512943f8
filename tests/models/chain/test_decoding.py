"""Decoding against enumeration: the score is the maximum, and the sequence attains it within the constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.scores import decode, decode_sequences

from .enumeration import scores, sequences, tiny_chains


@given(tiny_chains(), st.sampled_from([0.0, 1.0, 0.25, 3.0, -1.0]))
def test_loss_augmented_decoding(tiny, loss_scale):
    together = decode_sequences(tiny.chains, tiny.weights)
    for example in tiny.examples:
        path = np.zeros(len(tiny.gold(example)), np.int32)
        best = decode(tiny.chains, example, tiny.weights, loss_scale, path)
        legal = sequences(tiny.chains, example)
        values = scores(tiny, example, legal, loss_scale)
        assert tuple(path) in legal
        assert best == pytest.approx(values.max(), abs=1e-10)
        assert values[legal.index(tuple(path))] == pytest.approx(values.max(), abs=1e-10)
        if loss_scale == 0.0:
            assert tiny.of(example, together).tolist() == path.tolist(), "all at once as one by one"


@given(tiny_chains())
def test_ties_go_to_the_lowest_last_label(tiny):
    """With w = 0 all legal sequences tie."""
    labels = decode_sequences(tiny.chains, np.zeros_like(tiny.weights))
    for example in tiny.examples:
        assert tuple(tiny.of(example, labels)) == min(sequences(tiny.chains, example), key=lambda y: y[::-1])
