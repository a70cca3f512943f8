"""Sparse vectors against dense ones."""

import pickle

import numpy as np
import pytest

from spacy_ssvm.distributed.messages import COMPARED, ZERO, SparseVector, difference, sparse


@pytest.mark.parametrize("share", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("size", [0, 1, COMPARED, 3 * COMPARED + 5])
def test_differences_are_those_of_dense_vectors(size: int, share: float) -> None:
    rng = np.random.default_rng(size)
    before = rng.normal(size=size)
    after = np.where(rng.random(size) < share, rng.normal(size=size), before)
    found = difference(after, before)
    assert found.indices.dtype == np.int32 and found.values.dtype == np.float64
    np.testing.assert_array_equal(found.indices, np.flatnonzero(after != before))
    np.testing.assert_array_equal(found.dense(size), after - before)
    np.testing.assert_array_equal(sparse(after).dense(size), after)


def test_vectors_that_have_travelled_are_added_to_dense_ones() -> None:
    vector = sparse(np.array([0.0, 1.5, 0.0, -2.0]))
    arrived: SparseVector = pickle.loads(pickle.dumps(vector))
    assert arrived.digest() == vector.digest() != ZERO.digest()
    total = np.ones(4)
    arrived.add_to(total)
    arrived.add_to(total, 2.0)
    np.testing.assert_array_equal(total, [1.0, 5.5, 1.0, -5.0])
    np.testing.assert_array_equal(arrived.times(-1.0).dense(4), -vector.dense(4))
    ZERO.add_to(total)
    assert not len(sparse(np.zeros(4)).indices)
