"""Rows of label weights without zeros, and laid out for prediction, against all weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.fixed_rows import fixed_rows
from spacy_ssvm.models.chain.sparse_rows import dense, indices_of, sparse_rows, taken


def random_rows(n_rows, n_labels, share, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_labels)).astype(np.float32)
    rows[rng.random(rows.shape) > share] = 0.0
    return rows


def sparse(rows):
    indices = np.flatnonzero(rows)
    return sparse_rows(indices, rows.reshape(-1)[indices], *rows.shape)


@given(st.integers(0, 6), st.integers(0, 5), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0))
def test_sparse_rows_have_all_weights(n_rows, n_labels, share, seed):
    rows = random_rows(n_rows, n_labels, share, seed)
    found = sparse(rows)
    assert np.array_equal(dense(found, n_labels), rows)
    assert np.array_equal(indices_of(found, n_labels), np.flatnonzero(rows))
    chosen = np.random.default_rng(seed).integers(0, n_rows, 4) if n_rows else np.zeros(0, np.int64)
    assert np.array_equal(dense(taken(found, chosen), n_labels), rows[chosen])


def test_values_that_are_zero_in_single_precision_are_left_out():
    found = sparse_rows(np.array([0, 3, 4]), np.array([1e-60, 2.0, 0.0]), 2, 3)
    assert found.starts.tolist() == [0, 0, 1] and found.labels.tolist() == [0] and found.values.tolist() == [2.0]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_fixed_rows_have_all_weights(share):
    n_labels, n_rows = 70, 12
    rows = random_rows(n_rows, n_labels, share)
    fixed, found = fixed_rows(sparse(rows), n_labels), np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        if fixed.full[row] >= 0:
            found[row] = fixed.full_rows[fixed.full[row]]
        of_row = slice(fixed.starts[row], fixed.starts[row + 1])
        assert not found[row, fixed.labels[of_row]].any()
        found[row, fixed.labels[of_row]] += fixed.values[of_row]
    assert np.array_equal(found, rows)
    assert (fixed.full >= 0).any() == (share > 0.05)
