"""Decoding among the labels that are left, against the Viterbi algorithm over all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.structures import FORBIDDEN
from spacy_ssvm.structures.chain.constraints import allowed_labels, unconstrained
from spacy_ssvm.structures.chain.pruning import bounds_of, prune_labels, viterbi_pruned
from spacy_ssvm.structures.chain.viterbi import steps_of, viterbi


def best(scores, transitions, start, end):
    path = np.zeros(len(scores), np.int32)
    score = viterbi(scores, steps_of(transitions), start, end, np.empty_like(scores), path)
    return score, path


def best_left(scores, transitions, start, end, token=None):
    """token: [T, L], the constraints of each token."""
    token = np.zeros(scores.shape) if token is None else token
    allowed = allowed_labels(unconstrained(scores.shape[1])._replace(token=token))
    left = prune_labels(scores, np.arange(len(scores), dtype=np.int32), allowed, start, end, bounds_of(transitions))
    path = np.zeros(len(scores), np.int32)
    among = np.ascontiguousarray(transitions[np.ix_(left.labels, left.labels)])
    return viterbi_pruned(left, among, start, end, path), path, left


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 90),
    st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    st.booleans(),
)
def test_the_best_sequence_is_that_of_all_labels(seed, length, n_labels, scale, whole):
    """Whole numbers make ties, which both break in the same way."""
    rng = np.random.default_rng(seed)
    scores = 3 * rng.normal(size=(length, n_labels))
    transitions, start, end = (scale * rng.normal(size=shape) for shape in ((n_labels, n_labels), n_labels, n_labels))
    if whole:
        scores, transitions, start, end = map(np.round, (scores, transitions, start, end))
    token = np.where(rng.random((length, n_labels)) < rng.choice([0.0, 0.5]), FORBIDDEN, 0.0)
    if rng.random() < 0.1:
        token[0] = FORBIDDEN
    # A token whose labels are all ruled out may have any.
    limits = np.where((token == 0).any(axis=1, keepdims=True), token, 0.0)
    expected, path = best(scores + limits, transitions, start, end)
    score, found, left = best_left(scores, transitions, start, end, token)
    assert score == expected and np.array_equal(found, path)
    is_left = left.scores > FORBIDDEN / 2
    assert np.array_equal(left.scores[is_left], scores[:, left.labels][is_left])
    assert not limits[:, left.labels][is_left].any()
    assert np.array_equal(left.number[left.labels], np.arange(len(left.labels)))


def test_labels_are_left_out():
    """With steps that differ by less than labels do, one label is left of each token."""
    rng = np.random.default_rng(0)
    scores = 10.0 * np.eye(300)[rng.permutation(300)[:20]]
    left = best_left(scores, rng.uniform(-1, 1, (300, 300)), np.zeros(300), np.zeros(300))[2]
    assert np.array_equal(left.labels, np.sort(scores.argmax(axis=1)))
    assert ((left.scores > FORBIDDEN / 2).sum(axis=1) == 1).all()
