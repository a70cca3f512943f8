"""Exact decoding of a chain: the best label sequence, and the k best (list Viterbi), plain or loss-augmented."""

import numpy as np

from ...kernels import kernel
from .constraints import FORBIDDEN


@kernel
def largest_of_rows(matrix):
    """The largest element of each row of float64 [L, L]."""
    largest = matrix[:, 0].copy()
    for j in range(1, matrix.shape[1]):
        for i in range(matrix.shape[0]):
            largest[i] = max(largest[i], matrix[i, j])
    return largest


@kernel
def best_steps(before, transitions, reach, row):
    """Write max_i before_i + transitions_ij to row, float64 [L]; reach: of `largest_of_rows` for these transitions.

    A label is skipped if even its best transition cannot make it the best predecessor of any label; the maxima are the
    same. The inner loop is a plain maximum, which vectorises.
    """
    n_labels, top = len(before), 0
    for i in range(1, n_labels):
        if before[i] > before[top]:
            top = i
    lowest = np.inf
    for j in range(n_labels):
        row[j] = before[top] + transitions[top, j]
        lowest = min(lowest, row[j])
    for i in range(n_labels):
        score = before[i]
        if i != top and score + reach[i] > lowest:
            for j in range(n_labels):
                row[j] = max(row[j], score + transitions[i, j])


@kernel
def viterbi(scores, transitions, start, end, best, path):
    """The best sequence for token scores, float64 [T, L], and transition scores, float64 [L, L].

    Writes the lattice to best [T, L] and the labels to path [T]. Returns the score. Among equal sequences the result is
    the one with the lowest label at the last token where they differ.

    No back pointers are stored; the transitions on the best path are searched again.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    reach = largest_of_rows(transitions)
    for j in range(n_labels):
        best[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        row = best[t]
        best_steps(best[t - 1], transitions, reach, row)
        for j in range(n_labels):
            row[j] += scores[t, j]
    last = 0
    for j in range(1, n_labels):
        if best[length - 1, j] + end[j] > best[length - 1, last] + end[last]:
            last = j
    path[length - 1] = last
    for t in range(length - 1, 0, -1):
        before = 0
        for i in range(1, n_labels):
            if best[t - 1, i] + transitions[i, last] > best[t - 1, before] + transitions[before, last]:
                before = i
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
