"""The marginal oracle of a chain: the loss L_{β,γ} of an example and its gradient (Martins et al. 2010, §2.3)."""

import numpy as np

from ...kernels import kernel
from .data import Chains
from .forward_backward import expect
from .viterbi import transition_scores

NEGLIGIBLE = 1e-14
"""Probabilities below this are left out of gradients, where rounding is as large."""


@kernel
def marginal_oracle(chains, example, weights, beta, gamma, indices, values):
    """−∇L_{β,γ}(w) = Φ(x_i, y_i) − E[Φ(x_i, y)], in pairs that may repeat, y ~ exp(β(wᵀΦ(x_i, y) + γ Δ(y_i, y))).

    Returns the number of entries and L_{β,γ}(w) = (1/β) log Σ_y exp(β(γ Δ(y_i, y) − wᵀΔΦ_i(y))).
    """
    first, end = chains.starts[example], chains.starts[example + 1]
    n_labels = chains.scores.shape[1]
    labels, counts = np.empty((end - first, n_labels)), np.zeros((n_labels, n_labels))
    log_partition = expect(chains, example, weights, beta, gamma, labels, counts)
    transitions = transition_scores(chains, weights)
    entries, gold_score = 0, 0.0
    for token in range(first, end):
        t, gold = token - first, chains.gold[token]
        gold_score += chains.scores[t, gold] / beta
        labels[t, gold] -= 1.0
        if t > 0:
            gold_score += transitions[chains.gold[token - 1], gold]
            counts[chains.gold[token - 1], gold] -= 1.0
        for label in range(n_labels):
            if abs(labels[t, label]) > NEGLIGIBLE:
                for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
                    indices[entries] = n_labels * (n_labels + np.int64(chains.rows[f])) + label
                    values[entries] = -labels[t, label] * chains.values[f]
                    entries += 1
    for i in range(n_labels):
        for j in range(n_labels):
            if abs(counts[i, j]) > NEGLIGIBLE:
                indices[entries] = i * n_labels + j
                values[entries] = -counts[i, j]
                entries += 1
    return entries, max(0.0, log_partition / beta - gold_score)


def max_gradient_entries(chains: Chains) -> int:
    """An upper bound of the entries that the marginal oracle writes for any example."""
    n_labels = len(chains.constraints.start)
    features = np.diff(chains.feature_starts[chains.starts])
    return int(n_labels * (features.max(initial=0) + n_labels))
