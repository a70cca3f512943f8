"""Log-partition and marginals of P(y) ∝ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))) over a chain, in log space."""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .data import FORBIDDEN, Chains
from .viterbi import add_loss, emission_scores, transition_scores


class Marginals(NamedTuple):
    """What the distribution over one example's sequences expects.

    log_partition: log Σ_y exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))).
    labels: float64 [T, L], probability of each label at each token.
    transitions: float64 [L, L], expected number of each transition.
    """

    log_partition: float
    labels: np.ndarray
    transitions: np.ndarray


@kernel
def _log_sum_exp(first, second):
    """log Σ_j exp(first_j + second_j)."""
    largest = -np.inf
    for j in range(len(first)):
        largest = max(largest, first[j] + second[j])
    total = 0.0
    for j in range(len(first)):
        total += math.exp(first[j] + second[j] - largest)
    return largest + math.log(total)


@kernel
def forward(scores, transitions, start, end, lattice):
    """Fill lattice [T, L] with the log-sum of all beginnings that reach a label; returns the log-partition.

    scores: [T, L], of tokens; transitions: [L, L].
    """
    length, n_labels = scores.shape
    if length == 0:
        return 0.0
    largest, total = np.empty(n_labels), np.empty(n_labels)
    for j in range(n_labels):
        lattice[0, j] = scores[0, j] + start[j]
    for t in range(1, length):
        largest[:] = -np.inf
        for i in range(n_labels):
            for j in range(n_labels):
                largest[j] = max(largest[j], lattice[t - 1, i] + transitions[i, j])
        total[:] = 0.0
        for i in range(n_labels):
            for j in range(n_labels):
                total[j] += math.exp(lattice[t - 1, i] + transitions[i, j] - largest[j])
        for j in range(n_labels):
            lattice[t, j] = largest[j] + math.log(total[j]) + scores[t, j]
    return _log_sum_exp(lattice[length - 1], end)


@kernel
def backward(scores, transitions, end, lattice):
    """Fill lattice [T, L] with the log-sum of all ways to go on from a label, its own score left out."""
    length, n_labels = scores.shape
    if length == 0:
        return
    ahead = np.empty(n_labels)
    lattice[length - 1] = end
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            ahead[j] = scores[t + 1, j] + lattice[t + 1, j]
        for i in range(n_labels):
            lattice[t, i] = _log_sum_exp(transitions[i], ahead)


@kernel
def expect(chains, example, weights, beta, gamma, labels, counts):
    """Write the label marginals to labels [T, L] and add the expected transitions to counts [L, L].

    chains.scores is left with β times the tokens' scores, losses included. Returns the log-partition. Where it is
    below FORBIDDEN / 2 the constraints rule out every sequence, and the marginals mean nothing.
    """
    length = chains.starts[example + 1] - chains.starts[example]
    scores, before = chains.scores[:length], chains.best[:length]
    constraints = chains.constraints
    n_labels = scores.shape[1]
    emission_scores(chains, example, weights, scores)
    if gamma != 0.0:
        add_loss(chains, example, gamma, scores)
    transitions = transition_scores(chains, weights)
    if beta != 1.0:
        scores *= beta
        transitions *= beta
    log_partition = forward(scores, transitions, constraints.start, constraints.end, before)
    backward(scores, transitions, constraints.end, labels)
    for t in range(1, length):
        for i in range(n_labels):
            for j in range(n_labels):
                counts[i, j] += math.exp(
                    before[t - 1, i] + transitions[i, j] + scores[t, j] + labels[t, j] - log_partition
                )
    for t in range(length):
        for j in range(n_labels):
            labels[t, j] = math.exp(before[t, j] + labels[t, j] - log_partition)
    return log_partition


def marginals(chains: Chains, example: int, weights: np.ndarray, beta: float = 1.0, gamma: float = 0.0) -> Marginals:
    """Log-partition, label marginals and expected transitions of one example under w, float64 [d], contiguous.

    beta: β > 0. gamma: γ.

    Raises:
        ValueError: the constraints rule out every sequence.
    """
    n_labels = chains.scores.shape[1]
    labels = np.zeros((int(chains.starts[example + 1] - chains.starts[example]), n_labels))
    transitions = np.zeros((n_labels, n_labels))
    log_partition = expect(chains, example, weights, float(beta), float(gamma), labels, transitions)
    if log_partition < FORBIDDEN / 2:
        raise ValueError(f"the constraints rule out every label sequence of example {example}")
    return Marginals(log_partition, labels, transitions)
