"""Exact decoding of a chain: the best label sequence, and the k best (list Viterbi), plain or loss-augmented."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Float64Array2d, kernel
from .. import FORBIDDEN


class Steps(NamedTuple):
    """Transition scores in the forms that decoding reads, from `steps_of`.

    Attributes:
        scores: float64 [L, L], of each step (from, to).
        reverse: float64 [L, L], the same (to, from).
        reach: float64 [L], the largest score of a step from each label.
    """

    scores: Float64Array2d
    reverse: Float64Array2d
    reach: Float64Array


@kernel
def steps_of(transitions):
    """The `Steps` of transition scores, float64 [L, L]."""
    reverse = np.ascontiguousarray(transitions.T)
    reach = reverse[0].copy()
    for j in range(1, len(reach)):
        for i in range(len(reach)):
            reach[i] = max(reach[i], reverse[j, i])
    return Steps(transitions, reverse, reach)


@kernel
def best_steps(before, steps, row):
    """Write max_i before_i + the score of the step from i to j to row_j, float64 [L].

    A label is skipped if even its best transition cannot make it the best predecessor of any label; the maxima are the
    same. The inner loop is a plain maximum, which vectorises.
    """
    n_labels, top = len(before), 0
    for i in range(1, n_labels):
        if before[i] > before[top]:
            top = i
    lowest = np.inf
    for j in range(n_labels):
        row[j] = before[top] + steps.scores[top, j]
        lowest = min(lowest, row[j])
    for i in range(n_labels):
        score = before[i]
        if i != top and score + steps.reach[i] > lowest:
            for j in range(n_labels):
                row[j] = max(row[j], score + steps.scores[i, j])


@kernel
def viterbi(scores, steps, start, end, best, path):
    """The best sequence for token scores, float64 [T, L], and the `Steps` between labels.

    Writes the lattice to best [T, L] and the labels to path [T]. Returns the score. Among equal sequences the result is
    the one with the lowest label at the last token where they differ.

    No back pointers are stored; the transitions on the best path are searched again.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    for j in range(n_labels):
        best[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        row = best[t]
        best_steps(best[t - 1], steps, row)
        for j in range(n_labels):
            row[j] += scores[t, j]
    last = 0
    for j in range(1, n_labels):
        if best[length - 1, j] + end[j] > best[length - 1, last] + end[last]:
            last = j
    path[length - 1] = last
    for t in range(length - 1, 0, -1):
        row, step, before = best[t - 1], steps.reverse[last], 0
        largest = row[0] + step[0]
        for i in range(1, n_labels):
            score = row[i] + step[i]
            if score > largest:
                largest, before = score, i
        path[t - 1] = before
        last = before
    return best[length - 1, path[length - 1]] + end[path[length - 1]]


@kernel
def k_viterbi(scores, transitions, start, end, best, before, paths, path_scores):
    """The k best sequences for token scores, float64 [T, L], and transition scores, float64 [L, L], best first.

    best[t, j], float64 [k], and before[t, j], int64 [k], list the k best beginnings that end with label j at token t:
    their scores, and their predecessors at the token before, as label · k + rank. Each list is merged from L sorted
    lists in O(kL); among equal scores the lower label comes first.

    Writes labels to paths, int32 [k, ≥ T], and scores to path_scores, float64 [k]. Returns the number of sequences;
    those that break a constraint do not count.
    """
    length, n_labels, k = best.shape
    if length == 0:
        path_scores[0] = 0.0
        return 1
    lowest_legal = FORBIDDEN / 2
    best[:] = -np.inf
    for j in range(n_labels):
        best[0, j, 0] = scores[0, j] + start[j]
    n_merged = np.empty(n_labels, np.int64)
    for t in range(1, length):
        for j in range(n_labels):
            n_merged[:] = 0
            for rank in range(k):
                score, label = lowest_legal, -1
                for i in range(n_labels):
                    if n_merged[i] < k and best[t - 1, i, n_merged[i]] + transitions[i, j] + scores[t, j] > score:
                        score, label = best[t - 1, i, n_merged[i]] + transitions[i, j] + scores[t, j], i
                if label < 0:
                    break
                best[t, j, rank] = score
                before[t, j, rank] = label * k + n_merged[label]
                n_merged[label] += 1
    n_merged[:] = 0
    for number in range(k):
        score, label = lowest_legal, -1
        for j in range(n_labels):
            if n_merged[j] < k and best[length - 1, j, n_merged[j]] + end[j] > score:
                score, label = best[length - 1, j, n_merged[j]] + end[j], j
        if label < 0:
            return number
        path_scores[number] = score
        rank = n_merged[label]
        n_merged[label] += 1
        for t in range(length - 1, -1, -1):
            paths[number, t] = label
            label, rank = before[t, label, rank] // k, before[t, label, rank] % k
    return k
