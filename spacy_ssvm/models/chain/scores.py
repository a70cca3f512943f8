"""Scores of tokens and labels, with the loss if wanted, and the best sequences by them: any layout, any decoder.

`Chains` are scored by weights that are learnt, `FixedChains` by their own.
"""

import numpy as np

from ...kernels import kernel
from .data import Chains
from .decoders import decode_fixed, decode_labels
from .layouts import score_features, score_fixed


@kernel
def add_attributes(attributes, score):
    """Add the scores of attributes to their labels' scores; score: [L], from weights alone."""
    if len(attributes.nodes) == 0:
        return
    sums = np.empty(len(attributes.labels))
    for node in range(len(sums)):
        parent = attributes.parents[node]
        sums[node] = score[attributes.labels[node]] + (sums[parent] if parent >= 0 else 0.0)
    for label in range(len(score)):
        node = attributes.nodes[label]
        if node >= 0:
            score[label] += sums[node]


@kernel
def add_attributes_of_allowed(attributes, allowed, kind, score):
    """`add_attributes` for the labels that a kind of token allows; others' scores are undefined."""
    if len(attributes.nodes) == 0:
        return
    sums = np.empty(len(attributes.labels))
    for node in allowed.nodes[allowed.node_starts[kind] : allowed.node_starts[kind + 1]]:
        parent = attributes.parents[node]
        sums[node] = score[attributes.labels[node]] + (sums[parent] if parent >= 0 else 0.0)
    for label in allowed.labels[allowed.label_starts[kind] : allowed.label_starts[kind + 1]]:
        node = attributes.nodes[label]
        if node >= 0:
            score[label] += sums[node]


@kernel
def add_to_attributes(attributes, changes):
    """Add the changes of labels' scores, [L], to their attributes': the transpose of `add_attributes`."""
    if len(attributes.nodes) == 0:
        return
    sums = np.zeros(len(attributes.labels))
    for label in range(len(changes)):
        node = attributes.nodes[label]
        if node >= 0:
            sums[node] += changes[label]
    for node in range(len(sums) - 1, -1, -1):
        changes[attributes.labels[node]] += sums[node]
        parent = attributes.parents[node]
        if parent >= 0:
            sums[parent] += sums[node]


@kernel
def _add_constraints(chains, example, scores):
    """Add attributes and the tokens' constraints to tokens' scores, [T, L], from weights alone."""
    attributes, of_kinds, allowed = chains.constraints.attributes, chains.constraints.token, chains.decoder.allowed
    kinds = chains.kinds[chains.starts[example] : chains.starts[example + 1]]
    for t in range(len(scores)):
        if len(allowed.labels) > 0:
            add_attributes_of_allowed(attributes, allowed, kinds[t], scores[t])
        else:
            score, of_kind = scores[t], of_kinds[kinds[t]]
            add_attributes(attributes, score)
            for label in range(len(score)):
                score[label] += of_kind[label]


@kernel
def emission_scores(chains, example, weights, scores):
    """Write wᵀΦ of each token and label of a sequence, plus the tokens' constraints, to scores, float64 [T, L].

    Scores of labels that the decoder does not read are undefined.
    """
    first, end = chains.starts[example], chains.starts[example + 1]
    starts, rows, values = chains.feature_starts, chains.rows, chains.values
    score_features(chains.numbering, starts, rows, values, first, end, weights, scores)
    _add_constraints(chains, example, scores)


@kernel
def fixed_emission_scores(chains, example, scores):
    """`emission_scores` of `FixedChains`."""
    first, end = chains.starts[example], chains.starts[example + 1]
    score_fixed(chains.feature_starts, chains.rows, chains.values, first, end, chains.weights, scores)
    _add_constraints(chains, example, scores)


@kernel
def add_loss(chains, example, loss_scale, scores):
    """Add loss_scale · Δ(y_i, y) to emission scores, float64 [T, L]: a token's cost to all labels but the gold one."""
    if loss_scale == 0.0:
        return
    first = chains.starts[example]
    for t in range(chains.starts[example + 1] - first):
        cost = loss_scale * chains.costs[first + t]
        gold = chains.gold[first + t]
        for label in range(scores.shape[1]):
            if label != gold:
                scores[t, label] += cost


@kernel
def best_path(chains, example, weights, scores, path):
    """Write the best sequence by token scores, float64 [T, L], to path, int32 [T]; returns its score."""
    kinds = chains.kinds[chains.starts[example] : chains.starts[example + 1]]
    return decode_labels(chains.decoder, scores, kinds, chains.constraints, weights, path)


@kernel
def best_fixed_path(chains, example, scores, path):
    """`best_path` of `FixedChains`."""
    kinds = chains.kinds[chains.starts[example] : chains.starts[example + 1]]
    return decode_fixed(chains.decoder, scores, kinds, chains.constraints, path)


@kernel
def decode(chains, example, weights, loss_scale, path):
    """Write argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) to path, int32 [T]; returns the maximum."""
    scores = np.empty((len(path), len(chains.constraints.start)))
    emission_scores(chains, example, weights, scores)
    add_loss(chains, example, loss_scale, scores)
    return best_path(chains, example, weights, scores, path)


@kernel
def _decode_some(chains, examples, weights, loss_scale, labels):
    for example in examples:
        decode(chains, example, weights, loss_scale, labels[chains.starts[example] : chains.starts[example + 1]])


def decode_sequences(
    chains: Chains, weights: np.ndarray, examples: np.ndarray | None = None, loss_scale: float = 0.0
) -> np.ndarray:
    """argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) of the examples, int64, of all by default: int32 [T].

    Args:
        weights: float64, as the layout numbers them. Tokens of other examples get 0.
    """
    labels = np.zeros(len(chains.kinds), np.int32)
    if examples is None:
        examples = np.arange(len(chains.starts) - 1)
    _decode_some(chains, examples, weights, loss_scale, labels)
    return labels
