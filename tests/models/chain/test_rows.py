"""Rows of label weights without zeros, and laid out for prediction, against all weights."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.models.chain.layouts import score_fixed
from spacy_ssvm.models.chain.rows import fixed_rows, sparse_rows


def random_rows(n_rows, n_labels, share, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_labels)).astype(np.float32)
    rows[rng.random(rows.shape) > share] = 0.0
    return rows


def sparse(rows):
    indices = np.flatnonzero(rows)
    return sparse_rows(indices, rows.reshape(-1)[indices], *rows.shape)


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
