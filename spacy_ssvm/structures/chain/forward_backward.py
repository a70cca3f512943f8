"""Log-partition and marginals of P(y) ∝ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))) over a chain.

Lattices hold logarithms. A step from token to token is computed by sums of products, except where these might underflow
or overflow: there it is computed in log space. So scores may be of any size.
"""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import kernel

FAINT = 1e-200
"""A sum above this has lost no precision to terms that underflow, each of which is below 1e-307."""

MAX_EXCESS = 300.0
"""If the log of the largest product is at most this, a factor that underflows belongs to a step of probability below
1e-170."""


class Steps(NamedTuple):
    """The transitions between neighbouring tokens, from the row's label to the column's label.

    scores, factors: float64 [L, L]. largest: the largest score. factors = exp(scores − largest), so that a step needs L
    exponentials instead of L².
    """

    scores: np.ndarray
    factors: np.ndarray
    largest: float


@kernel
def steps_forward(transitions):
    """The steps of transitions, float64 [L, L], for `forward`."""
    largest, factors = -np.inf, np.empty_like(transitions)
    for i in range(len(transitions)):
        for j in range(len(transitions)):
            largest = max(largest, transitions[i, j])
    for i in range(len(transitions)):
        for j in range(len(transitions)):
            factors[i, j] = math.exp(transitions[i, j] - largest)
    return Steps(transitions, factors, largest)


@kernel
def steps_backward(steps):
    """The transposed steps, from the later label (row) to the earlier one (column), for `backward`."""
    scores, factors = np.empty_like(steps.scores), np.empty_like(steps.factors)
    for i in range(len(scores)):
        for j in range(len(scores)):
            scores[i, j] = steps.scores[j, i]
            factors[i, j] = steps.factors[j, i]
    return Steps(scores, factors, steps.largest)


@kernel
def _largest(numbers):
    largest = -np.inf
    for number in numbers:
        largest = max(largest, number)
    return largest


@kernel
def _log_sums(logs, steps, sums):
    """Write log Σ_i exp(logs_i + scores_ij) to sums [L]."""
    n_labels, largest = len(logs), _largest(logs)
    sums[:] = 0.0
    for i in range(n_labels):
        term = math.exp(logs[i] - largest)
        for j in range(n_labels):
            sums[j] += term * steps.factors[i, j]
    for j in range(n_labels):
        if sums[j] > FAINT:
            sums[j] = math.log(sums[j]) + largest + steps.largest
        else:
            sums[j] = _log_sum(logs, steps.scores, j)


@kernel
def _log_sum(logs, scores, j):
    """log Σ_i exp(logs_i + scores_ij), in log space."""
    largest, total = -np.inf, 0.0
    for i in range(len(logs)):
        largest = max(largest, logs[i] + scores[i, j])
    for i in range(len(logs)):
        total += math.exp(logs[i] + scores[i, j] - largest)
    return largest + math.log(total)


@kernel
def forward(scores, steps, start, end, lattice):
    """Fill lattice, float64 [T, L], with log-sums over all beginnings that end at a label, its own score included.

    scores: float64 [T, L], of tokens; steps: those of `steps_forward`. Returns the log-partition.
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    for j in range(n_labels):
        lattice[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        _log_sums(lattice[t - 1], steps, lattice[t])
        for j in range(n_labels):
            lattice[t, j] += scores[t, j]
    return _log_sum(lattice[length - 1], end.reshape(n_labels, 1), 0)


@kernel
def backward(scores, steps, end, lattice):
    """Fill lattice, float64 [T, L], with log-sums over all continuations of a label, its own score excluded.

    scores: float64 [T, L], of tokens; steps: those of `steps_backward`.
    """
    length, n_labels = scores.shape
    if length == 0:
        return
    ahead = np.empty(n_labels)
    lattice[length - 1] = end
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            ahead[j] = scores[t + 1, j] + lattice[t + 1, j]
        _log_sums(ahead, steps, lattice[t])


@kernel
def count_steps(before, steps, ahead, log_partition, counts):
    """Add the probability of each step between two tokens to counts, float64 [L, L].

    before: float64 [L], log-sums of beginnings up to the first token. ahead: float64 [L], log-sums of continuations
    from the second token on, its own score included; overwritten.
    """
    n_labels, largest_before, largest_ahead = len(before), _largest(before), _largest(ahead)
    excess = largest_before + steps.largest + largest_ahead - log_partition
    if excess > MAX_EXCESS:
        for i in range(n_labels):
            for j in range(n_labels):
                counts[i, j] += math.exp(before[i] + steps.scores[i, j] + ahead[j] - log_partition)
        return
    for j in range(n_labels):
        ahead[j] = math.exp(ahead[j] - largest_ahead)
    for i in range(n_labels):
        beginning = math.exp(before[i] - largest_before + excess)
        for j in range(n_labels):
            counts[i, j] += beginning * steps.factors[i, j] * ahead[j]


MAX_DRIFT = 1e-8
"""A token's probabilities whose sum differs from 1 by more are divided by it: over a long sequence, the rounding of
the log-sums before and after it adds up. A smaller difference is left, so that division adds no rounding of its own."""


@kernel
def marginals(scores, transitions, start, end, labels, counts):
    """Write the label marginals to labels [T, L] and add the expected transitions to counts [L, L].

    scores: float64 [T, L], of tokens. transitions: float64 [L, L]. start, end: float64 [L], added at the first and the
    last token.

    Returns the log-partition; some sequence must be possible.
    """
    length, n_labels = scores.shape
    before = np.empty_like(scores)
    steps = steps_forward(transitions)
    log_partition = forward(scores, steps, start, end, before)
    backward(scores, steps_backward(steps), end, labels)
    ahead = np.empty(n_labels)
    for t in range(length):
        total, log_total = 0.0, log_partition
        for j in range(n_labels):
            ahead[j] = scores[t, j] + labels[t, j]
            labels[t, j] = math.exp(before[t, j] + labels[t, j] - log_partition)
            total += labels[t, j]
        if abs(total - 1.0) > MAX_DRIFT:
            labels[t] /= total
            log_total += math.log(total)
        if t > 0:
            count_steps(before[t - 1], steps, ahead, log_total, counts)
    return log_partition
