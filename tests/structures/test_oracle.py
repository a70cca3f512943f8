"""The oracle's plane: ΔΦ by explicit construction, and the largest g of all sequences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.data import max_plane_entries
from spacy_ssvm.models.chain.oracles import feature_difference, max_oracle
from spacy_ssvm.solvers.planes import merge, plane_buffer

from .enumeration import joint_feature, loss, scores, sequences, tiny_chains


@given(tiny_chains(), st.data())
def test_feature_difference(tiny, data):
    """Any sequence, legal or not."""
    d, room = len(tiny.weights), max_plane_entries(tiny.chains)
    for example in tiny.examples:
        y = data.draw(st.sampled_from(sequences(tiny.chains, example, legal=False)))
        indices, values = np.zeros(room, np.int64), np.zeros(room)
        entries, found = feature_difference(tiny.chains, example, np.array(y, np.int32), indices, values)
        difference = np.zeros(d)
        np.add.at(difference, indices[:entries], values[:entries])
        gold = tiny.gold(example)
        expected = joint_feature(tiny.chains, example, gold, d) - joint_feature(tiny.chains, example, y, d)
        np.testing.assert_allclose(difference, expected, atol=1e-12)
        assert found == pytest.approx(loss(tiny.chains, example, y), abs=1e-12)
        if tuple(gold) == y:
            assert entries == 0 and found == 0.0


@given(tiny_chains())
def test_the_plane_is_the_most_violated(tiny):
    """ξ_i = max_y Δ − wᵀΔΦ ≥ 0, from a plane whose indices ascend."""
    plane = plane_buffer(max_plane_entries(tiny.chains))
    for example in tiny.examples:
        legal = sequences(tiny.chains, example)
        slack = scores(tiny, example, legal, 1.0).max() - scores(tiny, example, [tiny.gold(example)])[0]
        entries, found = max_oracle(tiny.chains, example, tiny.weights, 1.0, plane.indices, plane.values)
        pairs = tiny.weights[plane.indices[:entries]] @ plane.values[:entries]
        size = merge(plane, entries)
        merged = tiny.weights[plane.indices[:size]] @ plane.values[:size]
        assert slack >= 0
        assert found - pairs == pytest.approx(slack, abs=1e-10)
        assert found - merged == pytest.approx(slack, abs=1e-10)
        assert (np.diff(plane.indices[:size]) > 0).all() and plane.values[:size].all()
