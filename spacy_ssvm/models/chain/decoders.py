"""Decoders of a chain: the best sequence of labels by the scores of tokens and of steps.

With many labels, of L² transitions a few in a hundred ever get a weight. An oracle call would spend most of its time on
reading them. So there the weights in use bound the scores of all steps, labels that cannot win are left out
(`structures.chain.pruning`), and the rest is decoded exactly.

The arrays in the data determine the decoder, as with `layouts`: for another one, add its data to `Decoder` and
`FixedDecoder`, and its kernel to `decode_labels` and `decode_fixed`.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from ...structures.chain.constraints import AllowedLabels, Constraints, allowed_labels
from ...structures.chain.pruning import MANY, Bounds, bounds_of, prune_labels, viterbi_pruned
from ...structures.chain.viterbi import Steps, steps_of, viterbi
from .numbering import NO_STEPS, StepNumbering


class Decoder(NamedTuple):
    """The data that decoding reads, besides scores of tokens, while weights are learnt.

    Attributes:
        alone: whether there are no transitions: each token is labelled by itself.
        allowed: where labels are left out, the labels whose scores are read; else empty.
        used: the places of the weights of transitions, where these are numbered by use; else empty.
    """

    allowed: AllowedLabels
    used: StepNumbering
    alone: bool


class FixedDecoder(NamedTuple):
    """The data that decoding by fixed weights reads besides scores of tokens.

    Attributes:
        allowed, alone: as in `Decoder`.
        steps: the scores of transitions, with their constraints.
        bounds: of the steps, where labels are left out; else empty.
    """

    allowed: AllowedLabels
    steps: Steps
    bounds: Bounds
    alone: bool


@kernel
def decode_labels(decoder, scores, kinds, constraints, weights, path):
    """Write the best sequence by token scores, float64 [T, L], to path, int32 [T]; returns its score.

    Args:
        scores: with the tokens' constraints.
        kinds: int32 [T].
        weights: float64 [d].
    """
    start, end = constraints.start, constraints.end
    if decoder.alone:
        return _decode_each(scores, path)
    if len(decoder.allowed.labels) > 0:
        bounds = _bounds_in_use(decoder.used, weights)
        left = prune_labels(scores, kinds, decoder.allowed, start, end, bounds)
        between = np.zeros((len(left.labels), len(left.labels)))
        _write_in_use(decoder.used, weights, left.number, between)
        return viterbi_pruned(left, between, start, end, path)
    nothing = np.empty((0, 0))
    steps = Steps(nothing, nothing, np.empty(0))
    # A single token has none.
    if len(path) > 1:
        steps = steps_of(transition_scores(constraints, weights))
    return viterbi(scores, steps, start, end, np.empty_like(scores), path)


@kernel
def decode_fixed(decoder, scores, kinds, constraints, path):
    """`decode_labels` by fixed weights."""
    start, end = constraints.start, constraints.end
    if decoder.alone:
        return _decode_each(scores, path)
    if len(decoder.allowed.labels) > 0:
        left = prune_labels(scores, kinds, decoder.allowed, start, end, decoder.bounds)
        n_left = len(left.labels)
        between = np.empty((n_left, n_left))
        for i in range(n_left):
            steps = decoder.steps.scores[left.labels[i]]
            for j in range(n_left):
                between[i, j] = steps[left.labels[j]]
        return viterbi_pruned(left, between, start, end, path)
    return viterbi(scores, decoder.steps, start, end, np.empty_like(scores), path)


@kernel
def transition_scores(constraints, weights):
    """wᵀΦ of each transition plus the constraints, float64 [L, L]."""
    allowed = constraints.transition
    n_labels = allowed.shape[0]
    scores = np.empty((n_labels, n_labels))
    for i in range(n_labels):
        for j in range(n_labels):
            scores[i, j] = allowed[i, j] + weights[i * n_labels + j]
    return scores


@kernel
def _decode_each(scores, path):
    """The labels of tokens by themselves; the lowest one of equals."""
    total = 0.0
    for t in range(len(path)):
        score, best = scores[t], 0
        for label in range(1, len(score)):
            if score[label] > score[best]:
                best = label
        path[t] = best
        total += score[best]
    return total


@kernel
def _bounds_in_use(used, weights):
    """The `Bounds` of the scores of steps. Transitions that are not in use score 0."""
    n_labels = len(used.places)
    max_to, min_to = np.zeros(n_labels), np.zeros(n_labels)
    max_from, min_from = np.zeros(n_labels), np.zeros(n_labels)
    for k in range(used.counts[0]):
        i, j, weight = used.steps[k, 0], used.steps[k, 1], weights[k]
        max_to[j], min_to[j] = max(max_to[j], weight), min(min_to[j], weight)
        max_from[i], min_from[i] = max(max_from[i], weight), min(min_from[i], weight)
    return Bounds(max_to, min_to, max_from, min_from)


@kernel
def _write_in_use(used, weights, number, between):
    """Write scores of the steps between the labels that are left, float64 [U, U], which are 0."""
    for k in range(used.counts[0]):
        i, j = number[used.steps[k, 0]], number[used.steps[k, 1]]
        if i >= 0 and j >= 0:
            between[i, j] = weights[k]


_NOTHING, _NONE = np.zeros(0), np.zeros((0, 0))
_NO_NUMBERS, _NO_LABELS = np.zeros(0, np.int64), np.zeros(0, np.int32)
NONE_LEFT_OUT = AllowedLabels(_NO_NUMBERS, _NO_LABELS, _NO_NUMBERS, _NO_LABELS)
"""The scores of all labels are read."""
ALL_LABELS = Decoder(NONE_LEFT_OUT, NO_STEPS, alone=False)
"""The decoder by all labels and transitions, whose weights are numbered by row."""
ALONE = ALL_LABELS._replace(alone=True)
"""The decoder of sequences where each token is labelled by itself."""
_NO_BOUNDS = Bounds(_NOTHING, _NOTHING, _NOTHING, _NOTHING)
FIXED_ALONE = FixedDecoder(NONE_LEFT_OUT, Steps(_NONE, _NONE, _NOTHING), _NO_BOUNDS, alone=True)
"""The same by fixed weights."""


def has_many_labels(constraints: Constraints) -> bool:
    """Whether labels are worth leaving out: there are many, and every transition is allowed."""
    return len(constraints.start) >= MANY and not constraints.transition.any()


def learning_decoder(constraints: Constraints, used: StepNumbering) -> Decoder:
    """The decoder for many labels by transitions that are learnt and numbered by use."""
    return ALL_LABELS._replace(allowed=allowed_labels(constraints), used=used)


def fixed_decoder(constraints: Constraints, transitions: np.ndarray) -> FixedDecoder:
    """The decoder by fixed weights of transitions, float [L, L]."""
    scores = transitions + constraints.transition
    if not has_many_labels(constraints):
        return FixedDecoder(NONE_LEFT_OUT, steps_of(scores), _NO_BOUNDS, alone=False)
    return FixedDecoder(allowed_labels(constraints), Steps(scores, _NONE, _NOTHING), bounds_of(scores), alone=False)


def with_kinds(decoder: FixedDecoder, constraints: Constraints) -> FixedDecoder:
    """The decoder for its constraints with further kinds of tokens."""
    if not len(decoder.allowed.labels):
        return decoder
    return decoder._replace(allowed=allowed_labels(constraints, decoder.allowed))
