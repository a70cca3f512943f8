"""Exact decoding of a chain with many labels: most labels of a token lose whatever its neighbours' labels are.

Label a of a token is left out if label b is better even with the worst steps to and from b and the best ones to and
from a: dead-end elimination (Desmet, De Maeyer, Hazes & Lasters 1992), in O(L) for a token. The rest is a chain over
the labels that any token of the sequence still has, with the same best sequence.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Float64Array2d, Int32Array, kernel
from .. import FORBIDDEN
from .viterbi import steps_of, viterbi

MANY = 64
"""The number of labels from which on leaving labels out takes less time than it saves."""

SLACK = 1e-9
"""The relative difference to the best score that counts as rounding: labels within it stay."""


class Bounds(NamedTuple):
    """Bounds of the scores of steps to a label, and from it, float64 [L]."""

    max_to: Float64Array
    min_to: Float64Array
    max_from: Float64Array
    min_from: Float64Array


@kernel
def bounds_of(transitions):
    """The `Bounds` of transition scores, [L, L]."""
    n_labels = len(transitions)
    max_to, min_to = np.full(n_labels, -np.inf), np.full(n_labels, np.inf)
    max_from, min_from = np.full(n_labels, -np.inf), np.full(n_labels, np.inf)
    for i in range(n_labels):
        for j in range(n_labels):
            score = transitions[i, j]
            max_to[j], min_to[j] = max(max_to[j], score), min(min_to[j], score)
            max_from[i], min_from[i] = max(max_from[i], score), min(min_from[i], score)
    return Bounds(max_to, min_to, max_from, min_from)


class PrunedLabels(NamedTuple):
    """The labels that are left, from `prune_labels`: a chain over U labels.

    Attributes:
        labels: int32 [U], ascending, left at any token.
        scores: float64 [T, U], of the tokens; FORBIDDEN for labels that are left at other tokens only.
        number: int32 [L], of each label among the U, or -1.
    """

    labels: Int32Array
    scores: Float64Array2d
    number: Int32Array


@kernel
def prune_labels(scores, kinds, allowed, start, end, bounds):
    """The labels that the best sequence can have, for token scores, float64 [T, L], as `PrunedLabels`.

    Ties are broken as in `viterbi`: a label that can at best equal a lower one is left out, too. kinds: int32 [T].
    allowed: of these kinds; scores of other labels are not read. start, end: float64 [L], added at the first and the
    last token.
    """
    length, n_labels = scores.shape
    number, kept, n_kept = np.full(n_labels, -1, np.int32), np.empty(16 * length, np.int32), 0
    ends = np.empty(length + 1, np.int64)
    ends[0] = 0
    for t in range(length):
        if n_kept + n_labels > len(kept):
            larger = np.empty(2 * (n_kept + n_labels), np.int32)
            for k in range(n_kept):
                larger[k] = kept[k]
            kept = larger
        score = scores[t]
        min_to, max_to = (bounds.min_to, bounds.max_to) if t > 0 else (start, start)
        min_from, max_from = (bounds.min_from, bounds.max_from) if t + 1 < length else (end, end)
        labels_of_token = allowed.labels[allowed.label_starts[kinds[t]] : allowed.label_starts[kinds[t] + 1]]
        sure, rival = -np.inf, 0
        for j in labels_of_token:
            low = score[j] + min_to[j] + min_from[j]
            if low > sure:
                sure, rival = low, j
        almost = sure - SLACK * (1.0 + abs(sure))
        for j in labels_of_token:
            high = score[j] + max_to[j] + max_from[j]
            if high >= almost and (high > sure or j <= rival):
                kept[n_kept] = j
                n_kept += 1
                number[j] = 0
        ends[t + 1] = n_kept
    labels, n_left = np.empty(n_labels, np.int32), 0
    for j in range(n_labels):
        if number[j] == 0:
            number[j] = n_left
            labels[n_left] = j
            n_left += 1
    left = np.full((length, n_left), FORBIDDEN)
    for t in range(length):
        for k in range(ends[t], ends[t + 1]):
            left[t, number[kept[k]]] = scores[t, kept[k]]
    return PrunedLabels(labels[:n_left], left, number)


@kernel
def viterbi_pruned(left, transitions, start, end, path):
    """The best sequence of labels that are left, to path, int32 [T]; transitions: float64 [U, U], the scores of steps.

    Args:
        start, end: float64 [L].

    Returns:
        Its score.
    """
    n_left = len(left.labels)
    starts, ends = np.empty(n_left), np.empty(n_left)
    for k in range(n_left):
        starts[k], ends[k] = start[left.labels[k]], end[left.labels[k]]
    score = viterbi(left.scores, steps_of(transitions), starts, ends, np.empty_like(left.scores), path)
    for t in range(len(path)):
        path[t] = left.labels[path[t]]
    return score
