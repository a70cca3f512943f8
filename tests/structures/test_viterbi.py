"""Decoding against enumeration: the score is the maximum, and the sequence attains it within the constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.scores import decode, decode_sequences
from spacy_ssvm.structures.chain.constraints import unconstrained

from .enumeration import Tiny, scores, sequences, tiny_chains


def check(tiny: Tiny, loss_scale: float) -> None:
    for example in tiny.examples:
        path = np.zeros(len(tiny.gold(example)), np.int32)
        best = decode(tiny.chains, example, tiny.weights, loss_scale, path)
        legal = sequences(tiny.chains, example)
        values = scores(tiny, example, legal, loss_scale)
        assert tuple(path) in legal
        assert best == pytest.approx(values.max(), abs=1e-10)
        assert values[legal.index(tuple(path))] == pytest.approx(values.max(), abs=1e-10)


@given(tiny_chains())
def test_decode(tiny):
    check(tiny, 0.0)


@given(tiny_chains(hamming=True))
def test_hamming_augmented_decode(tiny):
    check(tiny, 1.0)


@given(tiny_chains(), st.sampled_from([0.25, 1.0, 3.0, -1.0]))
def test_cost_augmented_decode(tiny, loss_scale):
    check(tiny, loss_scale)


@given(tiny_chains())
def test_all_sequences_at_once_as_one_by_one(tiny):
    together = decode_sequences(tiny.chains, tiny.weights)
    for example in tiny.examples:
        first, end = tiny.chains.starts[example : example + 2]
        path = np.zeros(end - first, np.int32)
        decode(tiny.chains, example, tiny.weights, 0.0, path)
        assert together[first:end].tolist() == path.tolist()


@given(tiny_chains())
def test_ties_go_to_the_lowest_last_label(tiny):
    """With w = 0 all legal sequences tie."""
    for example in tiny.examples:
        path = np.zeros(len(tiny.gold(example)), np.int32)
        decode(tiny.chains, example, np.zeros_like(tiny.weights), 0.0, path)
        assert tuple(path) == min(sequences(tiny.chains, example), key=lambda y: y[::-1])


@given(tiny_chains(constrained=False))
def test_single_precision_weights(tiny):
    """What a loaded model decodes with: the sequence scores as the best does, up to single precision."""
    path = decode_sequences(tiny.chains, tiny.weights.astype(np.float32))
    for example in tiny.examples:
        first, end = tiny.chains.starts[example : example + 2]
        ys = sequences(tiny.chains, example)
        values = scores(tiny, example, ys)
        assert values[ys.index(tuple(path[first:end]))] == pytest.approx(values.max(), abs=1e-4)


def test_unconstrained_allows_everything():
    for part in unconstrained(3):
        assert not part.any()
    assert [part.shape for part in unconstrained(3)] == [(3,), (3,), (3, 3), (1, 3)]
