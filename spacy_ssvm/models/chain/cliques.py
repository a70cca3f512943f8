"""The cliques of a chain, for solvers that keep a distribution over the sequences of each example.

An example of T tokens and L labels has T · L cliques, one for each token and label, and then L², one for each pair of
labels, which stands for all neighbouring tokens with these labels. Without neighbours these are left out.
"""

import numpy as np

from ...kernels import kernel
from ...structures.chain.forward_backward import marginals
from .data import Chains
from .decoders import transition_scores
from .layouts import value_of
from .scores import add_to_attributes, emission_scores


def sizes(chains: Chains) -> np.ndarray:
    """The number of cliques of each example, int64 [n]."""
    n_labels, lengths = len(chains.constraints.start), np.diff(chains.starts)
    found: np.ndarray = lengths * n_labels + np.where(lengths > 1, n_labels * n_labels, 0)
    return found


@kernel
def _parts(chains, example, cliques):
    """An example's cliques of tokens, [T, L], and of pairs of labels, [L, L] or [0, L]."""
    n_labels, length = len(chains.constraints.start), chains.starts[example + 1] - chains.starts[example]
    tokens = length * n_labels
    return cliques[:tokens].reshape(length, n_labels), cliques[tokens:].reshape(n_labels if length > 1 else 0, n_labels)


@kernel
def score(chains, example, weights, scores, costs, wrong):
    """See `Cliques.score`."""
    tokens, pairs = _parts(chains, example, scores)
    emission_scores(chains, example, weights, tokens)
    if len(pairs) > 0:
        pairs[:] = transition_scores(chains.constraints, weights)
    first, token_costs, token_wrong = (
        chains.starts[example],
        _parts(chains, example, costs)[0],
        _parts(chains, example, wrong)[0],
    )
    costs[:] = 0.0
    wrong[:] = 0.0
    for t in range(len(tokens)):
        for label in range(tokens.shape[1]):
            if label != chains.gold[first + t]:
                token_costs[t, label], token_wrong[t, label] = chains.costs[first + t], 1.0


@kernel
def infer(chains, example, scores, surplus):
    """See `Cliques.infer`."""
    constraints, first = chains.constraints, chains.starts[example]
    tokens, pairs = _parts(chains, example, scores)
    labels, counts = _parts(chains, example, surplus)
    counts[:] = 0.0
    loss = marginals(tokens, pairs, constraints.start, constraints.end, labels, counts)
    for t in range(len(tokens)):
        gold = chains.gold[first + t]
        loss -= tokens[t, gold]
        labels[t, gold] -= 1.0
        if t > 0:
            before = chains.gold[first + t - 1]
            loss -= pairs[before, gold]
            counts[before, gold] -= 1.0
    return loss


@kernel
def move(chains, example, weights, steps):
    """See `Cliques.move`."""
    first, rise = chains.starts[example], 0.0
    tokens, pairs = _parts(chains, example, steps)
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(tokens.shape[1])
    for t in range(len(tokens)):
        step = tokens[t].copy()
        add_to_attributes(chains.constraints.attributes, step)
        for f in range(chains.feature_starts[first + t], chains.feature_starts[first + t + 1]):
            block = n_labels * (n_labels + np.uint64(chains.rows[f]))
            value = value_of(chains.values, f)
            for label in range(n_labels):
                change, weight = value * step[label], weights[block + label]
                rise += change * (weight + change / 2.0)
                weights[block + label] = weight + change
    for i in range(len(pairs)):
        for j in range(len(pairs)):
            weight = weights[i * len(pairs) + j]
            rise += pairs[i, j] * (weight + pairs[i, j] / 2.0)
            weights[i * len(pairs) + j] = weight + pairs[i, j]
    return rise
