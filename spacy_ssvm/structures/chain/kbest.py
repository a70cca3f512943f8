"""The k best label sequences of a chain, exactly (list Viterbi), plain or loss-augmented."""

import numpy as np

from ...kernels import kernel
from .data import FORBIDDEN, Chains
from .viterbi import add_loss, emission_scores, transition_scores


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


@kernel
def decode_k_best(chains, example, weights, loss_scale, best, before, paths, path_scores):
    """The k sequences of largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), as `k_viterbi` returns them.

    best, before: scratch of `k_viterbi`, [≥ T, L, k]. paths: int32 [k, ≥ T]. path_scores: [k].
    """
    length = chains.starts[example + 1] - chains.starts[example]
    scores = chains.scores[:length]
    emission_scores(chains, example, weights, scores)
    if loss_scale != 0.0:
        add_loss(chains, example, loss_scale, scores)
    constraints = chains.constraints
    transitions = transition_scores(chains, weights)
    return k_viterbi(
        scores, transitions, constraints.start, constraints.end, best[:length], before[:length], paths, path_scores
    )


def k_best(
    chains: Chains, example: int, weights: np.ndarray, k: int, loss_scale: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The k sequences of one example with the largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first.

    weights: float64 [d], contiguous.
    Returns labels int32 [m, T] and scores float64 [m]; m < k where the constraints allow fewer sequences.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    length = int(chains.starts[example + 1] - chains.starts[example])
    n_labels = chains.scores.shape[1]
    lattice = (length, n_labels, k)
    paths, scores = np.zeros((k, length), np.int32), np.zeros(k)
    found = decode_k_best(
        chains, example, weights, float(loss_scale), np.zeros(lattice), np.zeros(lattice, np.int64), paths, scores
    )
    return paths[:found], scores[:found]
