"""Scores of tokens and labels from feature rows; decoding of sequences."""

import numpy as np

from ...features.index import Columns, Program
from ...kernels import kernel, prefetch
from ...structures.chain.constraints import Constraints
from ...structures.chain.viterbi import steps_of, viterbi
from .data import Chains, require_finite, value_of

WEIGHTS_OF_A_LINE = 16
"""Weights of 32 bits in a cache line of 64 bytes; for larger ones every second line is fetched."""


@kernel
def add_rows(feature_starts, rows, values, token, weights, score):
    """Add wᵀΦ of a token's features to score [L]."""
    # Unsigned: the compiler cannot vectorise over an index that might be negative and count from the end.
    n_labels = np.uint64(len(score))
    for f in range(feature_starts[token], feature_starts[token + 1]):
        block = n_labels * (n_labels + np.uint64(rows[f]))
        value = value_of(values, f)
        for label in range(n_labels):
            score[label] += value * weights[block + label]


@kernel
def fetch_rows(feature_starts, rows, token, weights, n_labels):
    """Start to fetch the weights of a token's features."""
    for f in range(feature_starts[token], feature_starts[token + 1]):
        block = n_labels * (n_labels + np.int64(rows[f]))
        for first in range(block, block + n_labels, WEIGHTS_OF_A_LINE):
            prefetch(weights, first)


@kernel
def add_attributes(attributes, score):
    """Add the scores of attributes to those of the labels that have them; score: [L], from weights alone."""
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
    """Add the changes of labels' scores, [L], to those of their attributes: the transpose of `add_attributes`."""
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
def add_attributes_and_constraints(chains, token, score):
    """Add to a token's scores, [L], from weights alone, what attributes and the token's constraints add."""
    add_attributes(chains.constraints.attributes, score)
    allowed = chains.constraints.token[chains.kinds[token]]
    for label in range(len(score)):
        score[label] += allowed[label]


@kernel
def emission_scores(chains, example, weights, scores):
    """Write wᵀΦ of each token and label of a sequence, plus the tokens' constraints, to scores, float64 [T, L]."""
    first, end = chains.starts[example], chains.starts[example + 1]
    for t in range(end - first):
        token = first + t
        if token + 1 < end:
            fetch_rows(chains.feature_starts, chains.rows, token + 1, weights, scores.shape[1])
        score = scores[t]
        score[:] = 0.0
        add_rows(chains.feature_starts, chains.rows, chains.values, token, weights, score)
        add_attributes_and_constraints(chains, token, score)


@kernel
def transition_scores(chains, weights):
    """wᵀΦ of each transition plus the constraints, float64 [L, L]."""
    allowed = chains.constraints.transition
    n_labels = allowed.shape[0]
    scores = np.empty((n_labels, n_labels))
    for i in range(n_labels):
        for j in range(n_labels):
            scores[i, j] = allowed[i, j] + weights[i * n_labels + j]
    return scores


@kernel
def add_loss(chains, example, loss_scale, scores):
    """Add loss_scale · Δ(y_i, y) to emission scores, float64 [T, L]: a token's cost to all labels but the gold one."""
    first = chains.starts[example]
    for t in range(chains.starts[example + 1] - first):
        cost = loss_scale * chains.costs[first + t]
        gold = chains.gold[first + t]
        for label in range(scores.shape[1]):
            if label != gold:
                scores[t, label] += cost


@kernel
def decode(chains, example, weights, loss_scale, path):
    """Write argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) to path, int32 [T]; returns the maximum."""
    scores = np.empty((len(path), len(chains.constraints.start)))
    emission_scores(chains, example, weights, scores)
    if loss_scale != 0.0:
        add_loss(chains, example, loss_scale, scores)
    return best_path(chains, weights, scores, path)


@kernel
def best_path(chains, weights, scores, path):
    """Write the best sequence by token scores, float64 [T, L], to path, int32 [T]; returns its score."""
    constraints = chains.constraints
    steps = steps_between(chains, weights, len(path))
    return viterbi(scores, steps, constraints.start, constraints.end, np.empty_like(scores), path)


@kernel
def steps_between(chains, weights, length):
    """The steps of sequences of this length at most; nobody reads those of a single token."""
    return steps_of(transition_scores(chains, weights) if length > 1 else np.empty((1, 1)))


@kernel
def longest(chains):
    """The length of the longest sequence."""
    length = 0
    for example in range(len(chains.starts) - 1):
        length = max(length, chains.starts[example + 1] - chains.starts[example])
    return length


@kernel
def decode_all(chains, weights, labels):
    """Write argmax_y wᵀΦ(x_i, y) of every sequence to labels, int32 [T]; weights: length `dimension(L, R)`."""
    transitions = steps_between(chains, weights, longest(chains))
    constraints = chains.constraints
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        scores = np.empty((end - first, len(constraints.start)))
        emission_scores(chains, example, weights, scores)
        viterbi(scores, transitions, constraints.start, constraints.end, np.empty_like(scores), labels[first:end])


def decode_sequences(chains: Chains, weights: np.ndarray) -> np.ndarray:
    """The best label of every token, int32 [T], sequences in order.

    weights: float32 or float64, contiguous, length `dimension(L, R)`.
    """
    labels = np.zeros(len(chains.gold), np.int32)
    decode_all(chains, weights, labels)
    return labels


def unlabelled(columns: Columns, program: Program, kinds: np.ndarray, constraints: Constraints) -> Chains:
    """The sequences of the given columns, without gold labels, with room for their features.

    program: templates over the columns. kinds: int32 [T], rows of `constraints.token`.
    """
    n_tokens = int(columns.starts[-1])
    max_features = n_tokens * len(program.seeds)
    return Chains(
        columns.starts,
        np.zeros(n_tokens + 1, np.int64),
        np.empty(max_features, np.int32),
        np.empty(max_features, np.float32),
        np.empty(0, np.int32),
        np.empty(0),
        kinds,
        constraints,
    )


def require_finite_values(program: Program, chains: Chains) -> None:
    """Check the values of features that `features.index.extract` has written, if any are real.

    Raises:
        ValueError: a feature value is not finite.
    """
    if program.reals.max(initial=-1) >= 0:
        require_finite(chains.starts, chains.feature_starts, chains.values[: chains.feature_starts[-1]])
