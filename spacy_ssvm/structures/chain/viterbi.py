"""Exact decoding of a chain: the best label sequence, plain or loss-augmented."""

import numpy as np

from ...kernels import kernel
from .data import Chains


@kernel
def emission_scores(chains, example, weights, scores):
    """Fill scores [T, L] of one sequence with wᵀΦ of each token and label, constraints of tokens included."""
    n_labels = scores.shape[1]
    first = chains.starts[example]
    for t in range(chains.starts[example + 1] - first):
        token = first + t
        score = scores[t]
        score[:] = chains.constraints.token[chains.kinds[token]]
        for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
            block = n_labels * (n_labels + np.int64(chains.rows[f]))
            value = chains.values[f]
            for label in range(n_labels):
                score[label] += value * weights[block + label]


@kernel
def transition_scores(chains, weights):
    """wᵀΦ of each transition [L, L], constraints included."""
    allowed = chains.constraints.transition
    n_labels = allowed.shape[0]
    scores = np.empty((n_labels, n_labels))
    for i in range(n_labels):
        for j in range(n_labels):
            scores[i, j] = allowed[i, j] + weights[i * n_labels + j]
    return scores


@kernel
def viterbi(scores, transitions, start, end, best, path):
    """The best sequence for emission scores [T, L] and transition scores [L, L] and its score.

    Writes the lattice to best [T, L] and the labels to path [T]. Of equal sequences it takes the one
    with the lowest label at the last token where they differ.
    No back pointers are kept: the inner loop is a plain maximum that vectorises, and only the transitions
    on the best path are searched again.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    for j in range(n_labels):
        best[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        row = best[t]
        row[:] = -np.inf
        for i in range(n_labels):
            so_far = best[t - 1, i]
            for j in range(n_labels):
                row[j] = max(row[j], so_far + transitions[i, j])
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
def add_loss(chains, example, loss_scale, scores):
    """Add loss_scale · Δ(y_i, y) to emission scores [T, L]: a token's cost at each label but the gold one."""
    first = chains.starts[example]
    for t in range(chains.starts[example + 1] - first):
        cost = loss_scale * chains.costs[first + t]
        gold = chains.gold[first + t]
        for label in range(scores.shape[1]):
            if label != gold:
                scores[t, label] += cost


@kernel
def decode(chains, example, weights, loss_scale, path):
    """argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) into path [T]; returns that maximum."""
    length = chains.starts[example + 1] - chains.starts[example]
    scores = chains.scores[:length]
    emission_scores(chains, example, weights, scores)
    if loss_scale != 0.0:
        add_loss(chains, example, loss_scale, scores)
    constraints = chains.constraints
    transitions = transition_scores(chains, weights)
    return viterbi(scores, transitions, constraints.start, constraints.end, chains.best, path)


@kernel
def decode_all(chains, weights, labels):
    """argmax_y wᵀΦ(x_i, y) of every sequence into labels int32 [T].

    weights: float32 or float64, length `dimension(L, R)`.
    """
    transitions = transition_scores(chains, weights)
    constraints = chains.constraints
    for example in range(len(chains.starts) - 1):
        first, behind = chains.starts[example], chains.starts[example + 1]
        scores = chains.scores[: behind - first]
        emission_scores(chains, example, weights, scores)
        viterbi(scores, transitions, constraints.start, constraints.end, chains.best, labels[first:behind])


def decode_sequences(chains: Chains, weights: np.ndarray) -> np.ndarray:
    """The best label of every token, int32 [T], sequences in order.

    weights: float32 or float64, contiguous, length `dimension(L, R)`.
    """
    labels = np.zeros(len(chains.gold), np.int32)
    decode_all(chains, weights, labels)
    return labels
