"""Exact decoding of a chain: the best label sequence, plain or loss-augmented."""

import numpy as np

from ...kernels import kernel
from .data import Chains, SharedScores, nothing_shared


@kernel
def add_rows(feature_starts, rows, values, token, weights, score):
    """Add wᵀΦ of a token's features to score [L]."""
    # Unsigned, as the compiler could not vectorise an index that may count from the end.
    n_labels = np.uint64(len(score))
    for f in range(feature_starts[token], feature_starts[token + 1]):
        block = n_labels * (n_labels + np.uint64(rows[f]))
        value = values[f]
        for label in range(n_labels):
            score[label] += value * weights[block + label]


@kernel
def add_all_rows(feature_starts, rows, values, weights, scores):
    """The same for all of n tokens, scores [n, L]."""
    for token in range(len(scores)):
        add_rows(feature_starts, rows, values, token, weights, scores[token])


@kernel
def add_shared(shared, first, end, scores):
    """Add to scores [T, L] of the sequence first … end what its tokens share with others."""
    for t in range(end - first):
        score = scores[t]
        for g in range(len(shared.offsets)):
            at = first + t + shared.offsets[g]
            entry = shared.entries[at] if first <= at < end else 0
            vector = shared.vectors[entry, g]
            for label in range(len(score)):
                score[label] += vector[label]


@kernel
def emission_scores(chains, example, weights, scores):
    """Fill scores [T, L] of one sequence with wᵀΦ of each token and label, constraints of tokens included."""
    first = chains.starts[example]
    for t in range(chains.starts[example + 1] - first):
        token = first + t
        score = scores[t]
        allowed = chains.constraints.token[chains.kinds[token]]
        for label in range(len(score)):
            score[label] = allowed[label]
        add_rows(chains.feature_starts, chains.rows, chains.values, token, weights, score)


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
def _largest_of_rows(matrix):
    largest = matrix[:, 0].copy()
    for j in range(1, matrix.shape[1]):
        for i in range(matrix.shape[0]):
            largest[i] = max(largest[i], matrix[i, j])
    return largest


@kernel
def viterbi(scores, transitions, start, end, best, path):
    """The best sequence for emission scores [T, L] and transition scores [L, L] and its score.

    Writes the lattice to best [T, L] and the labels to path [T]. Of equal sequences it takes the one
    with the lowest label at the last token where they differ.
    No back pointers are kept: the inner loop is a plain maximum that vectorises, and only the transitions
    on the best path are searched again. A label that cannot be the best predecessor of any, as its best transition does
    not make up for what it is behind the best label, is passed over; the maxima are the same.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    reach = _largest_of_rows(transitions)
    for j in range(n_labels):
        best[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        row, before = best[t], best[t - 1]
        top = 0
        for i in range(1, n_labels):
            if before[i] > before[top]:
                top = i
        lowest = np.inf
        for j in range(n_labels):
            row[j] = before[top] + transitions[top, j]
            lowest = min(lowest, row[j])
        for i in range(n_labels):
            so_far = before[i]
            if i != top and so_far + reach[i] > lowest:
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
def decode_all(chains, shared, weights, labels):
    """argmax_y wᵀΦ(x_i, y) of every sequence into labels int32 [T]; weights: length `dimension(L, R)`."""
    transitions = transition_scores(chains, weights)
    constraints = chains.constraints
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        scores = chains.scores[: end - first]
        emission_scores(chains, example, weights, scores)
        add_shared(shared, first, end, scores)
        viterbi(scores, transitions, constraints.start, constraints.end, chains.best, labels[first:end])


def decode_sequences(chains: Chains, weights: np.ndarray, shared: SharedScores | None = None) -> np.ndarray:
    """The best label of every token, int32 [T], sequences in order.

    weights: float32 or float64, contiguous, length `dimension(L, R)`. shared: scores besides those of the features.
    """
    labels = np.zeros(len(chains.gold), np.int32)
    decode_all(chains, shared or nothing_shared(len(chains.constraints.start)), weights, labels)
    return labels
