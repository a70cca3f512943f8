"""k-best sequences against enumeration: by score, since ties may come in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.oracles import k_best
from spacy_ssvm.models.chain.scores import decode
from spacy_ssvm.structures.chain.constraints import FORBIDDEN, Constraints

from .enumeration import scores, sequences, tiny_chains


@given(tiny_chains(), st.integers(1, 12), st.sampled_from([0.0, 1.0, 0.5]))
def test_k_best(tiny, k, loss_scale):
    for example in tiny.examples:
        labels, found = k_best(tiny.chains, example, tiny.weights, k, loss_scale)
        legal = sequences(tiny.chains, example)
        expected = np.sort(scores(tiny, example, legal, loss_scale))[::-1][:k]
        ys = [tuple(y) for y in labels]
        assert labels.dtype == np.int32 and labels.shape == (len(expected), len(tiny.gold(example)))
        assert found == pytest.approx(expected, abs=1e-10)
        assert len(set(ys)) == len(ys) and set(ys) <= set(legal)
        assert scores(tiny, example, ys, loss_scale) == pytest.approx(found, abs=1e-10)


@given(tiny_chains(max_labels=2), st.sampled_from([0.0, 1.0]))
def test_a_large_k_lists_every_legal_sequence(tiny, loss_scale):
    for example in tiny.examples:
        labels, _ = k_best(tiny.chains, example, tiny.weights, 40, loss_scale)
        assert sorted(map(tuple, labels)) == sequences(tiny.chains, example)


@given(tiny_chains(), st.integers(1, 5))
def test_the_first_scores_as_decoding_does(tiny, k):
    for example in tiny.examples:
        path = np.zeros(len(tiny.gold(example)), np.int32)
        _, found = k_best(tiny.chains, example, tiny.weights, k, 1.0)
        assert found[0] == decode(tiny.chains, example, tiny.weights, 1.0, path)


@given(tiny_chains(constrained=False))
def test_none_where_the_constraints_allow_none(tiny):
    start = np.full(tiny.n_labels, FORBIDDEN)
    closed = tiny.chains._replace(constraints=Constraints(start, *tiny.chains.constraints[1:]))
    for example in tiny.examples:
        labels, found = k_best(closed, example, tiny.weights, 3)
        assert len(labels) == len(found) == (0 if len(tiny.gold(example)) else 1)


@given(tiny_chains(), st.integers(-3, 0))
def test_k_below_one_is_refused(tiny, k):
    with pytest.raises(ValueError, match=f"k must be at least 1, not {k}"):
        k_best(tiny.chains, 0, tiny.weights, k)
