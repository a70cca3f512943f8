"""The k best label sequences of a chain, exactly (list Viterbi), plain or loss-augmented."""

import numpy as np

from ...kernels import kernel
from .constraints import FORBIDDEN


@kernel
def k_viterbi(scores, transitions, start, end, best, before, paths, path_scores):
    """The k best sequences for emission scores [T, L] and transition scores [L, L], best first.

    best[t, j] [k] and before[t, j] int64 [k] list the best ways to reach label j at token t: their scores,
    and where they come from at the token before, as label · k + rank. Each list is merged from L lists that
    are sorted already, in O(kL); of equal scores the lower label comes first.
    Writes labels to paths int32 [k, ≥ T] and scores to path_scores [k]. Returns how many sequences there are:
    those that break a constraint do not count.
    """
    length, n_labels, k = best.shape
    if length == 0:
        path_scores[0] = 0.0
        return 1
    legal = FORBIDDEN / 2
    best[:] = -np.inf
    for j in range(n_labels):
        best[0, j, 0] = scores[0, j] + start[j]
    taken = np.empty(n_labels, np.int64)
    for t in range(1, length):
        for j in range(n_labels):
            taken[:] = 0
            for rank in range(k):
                score, label = legal, -1
                for i in range(n_labels):
                    if taken[i] < k and best[t - 1, i, taken[i]] + transitions[i, j] + scores[t, j] > score:
                        score, label = best[t - 1, i, taken[i]] + transitions[i, j] + scores[t, j], i
                if label < 0:
                    break
                best[t, j, rank] = score
                before[t, j, rank] = label * k + taken[label]
                taken[label] += 1
    taken[:] = 0
    for found in range(k):
        score, label = legal, -1
        for j in range(n_labels):
            if taken[j] < k and best[length - 1, j, taken[j]] + end[j] > score:
                score, label = best[length - 1, j, taken[j]] + end[j], j
        if label < 0:
            return found
        path_scores[found] = score
        rank = taken[label]
        taken[label] += 1
        for t in range(length - 1, -1, -1):
            paths[found, t] = label
            label, rank = before[t, label, rank] // k, before[t, label, rank] % k
    return k
