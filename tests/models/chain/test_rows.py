"""Rows of label weights without zeros, and laid out for prediction, against all weights."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.layouts import score_fixed
from spacy_ssvm.models.chain.rows import dense, fixed_rows, indices_of, sparse_rows, taken


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


@given(st.integers(0, 6), st.sampled_from([0, 1, 2, 7, 70]), st.sampled_from([0.0, 0.01, 0.1, 1.0]), st.integers(0))
def test_scores_by_fixed_rows_are_sums_of_rows(n_rows, n_labels, share, seed):
    rows, rng = random_rows(n_rows, n_labels, share, seed), np.random.default_rng(seed)
    sizes = rng.integers(0, 4, 5) if n_rows else np.zeros(5, np.int64)
    feature_starts = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.integers(0, max(n_rows, 1), sizes.sum()).astype(np.int32)
    values = rng.normal(size=sizes.sum()).astype(np.float32)
    scores = np.full((5, n_labels), np.nan)
    score_fixed(feature_starts, features, values, 0, 5, fixed_rows(sparse(rows), n_labels), scores)
    wanted = [values[a:b] @ rows[features[a:b]] for a, b in pairwise(feature_starts)]
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-6)


def test_rows_with_many_weights_are_stored_whole():
    rows = np.zeros((3, 70), np.float32)
    rows[0, 2:4], rows[2, :20] = 1.0, 2.0
    assert np.diff(fixed_rows(sparse(rows), 70).starts).tolist() == [4, 0, 70]
