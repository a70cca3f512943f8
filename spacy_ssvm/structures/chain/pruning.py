"""Exact decoding of a chain with many labels: most labels of a token lose whatever the labels beside it are.

Label a of a token is left out if label b is better even with the worst steps to and from b and the best ones to and from
a: dead-end elimination (Desmet, De Maeyer, Hazes & Lasters 1992, equation 3), in O(L) for a token. What is left of a
sequence is a chain over the labels that any of its tokens still has, with the same best sequences.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, kernel
from .constraints import FORBIDDEN

MANY = 64
"""The number of labels from which on leaving labels out takes less time than it saves."""

SLACK = 1e-9
"""Labels whose scores are equal but for rounding, relative to the best one, stay."""


class Bounds(NamedTuple):
    """Bounds of the scores of steps, float64 [L]: of those to a label, and of those from it."""

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


@kernel
def leave_out(scores, start, end, bounds, number):
    """Set scores of labels that the best sequence does not have, in float64 [T, L], to FORBIDDEN.

    The best one among equals is that of `viterbi`: a label that can at best equal a lower one is left out, too.

    start, end: float64 [L], added at the first and the last token. number: int32 [L], output: the number of each label
    among those that are left at any token, in the same order, or -1. Returns their count U.
    """
    length, n_labels = scores.shape
    for j in range(n_labels):
        number[j] = -1
    for t in range(length):
        score = scores[t]
        min_to, max_to = (bounds.min_to, bounds.max_to) if t > 0 else (start, start)
        min_from, max_from = (bounds.min_from, bounds.max_from) if t + 1 < length else (end, end)
        sure, rival = -np.inf, 0
        for j in range(n_labels):
            low = score[j] + min_to[j] + min_from[j]
            if low > sure:
                sure, rival = low, j
        almost = sure - SLACK * (1.0 + abs(sure))
        for j in range(n_labels):
            high = score[j] + max_to[j] + max_from[j]
            if high < almost or (high <= sure and j > rival):
                score[j] = FORBIDDEN
            else:
                number[j] = 0
    n_left = 0
    for j in range(n_labels):
        if number[j] == 0:
            number[j] = n_left
            n_left += 1
    return n_left


@kernel
def only_left(scores, number, n_left):
    """The columns of the labels that are left, float64 [T, U], of scores [T, L]; number: of `leave_out`."""
    left = np.empty((len(scores), n_left))
    for j in range(len(number)):
        if number[j] >= 0:
            for t in range(len(scores)):
                left[t, number[j]] = scores[t, j]
    return left


@kernel
def labels_left(number, n_left):
    """The labels that are left, int32 [U]: the inverse of `number`."""
    labels = np.empty(n_left, np.int32)
    for j in range(len(number)):
        if number[j] >= 0:
            labels[number[j]] = j
    return labels
