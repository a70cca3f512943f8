"""Decoders of a chain: the best sequence of labels by the scores of tokens and of steps.

A decoder is a first-class function with the data that it reads. Another one is a kernel of the type `DECODE` beside
these. With many labels, of L² transitions a few in a hundred ever get a weight. An oracle call that read all of them
would take longer for these than for all else. So there the weights in use bound the scores of all steps, labels that
cannot win are left out (`structures.chain.pruning`), and the rest is decoded. The result is exact.
"""

from typing import Annotated, NamedTuple

import numpy as np

from ...kernels import FirstClassFunction, Float64Array, Float64Array2d, Int32Array, kernel, signature
from ...structures.chain.constraints import AllowedLabels, Constraints, allowed_labels
from ...structures.chain.pruning import MANY, Bounds, bounds_of, prune_labels, viterbi_pruned
from ...structures.chain.viterbi import Steps, steps_of, viterbi
from .numbering import NO_STEPS, StepNumbering


class Transitions(NamedTuple):
    """The scores of steps, as far as a decoder reads them: fixed ones, or none while weights are learnt.

    fixed: the scores, with the constraints. bounds: of these. used: where the weights to learn are numbered by use.
    """

    fixed: Steps
    bounds: Bounds
    used: StepNumbering


DECODE = signature(
    float,
    Float64Array2d,
    Int32Array,
    Constraints,
    AllowedLabels,
    Transitions,
    Float64Array,
    Int32Array,
)
"""(scores float64 [T, L], kinds int32 [T], constraints, allowed, transitions, weights, path int32 [T]) → float64.

It writes the best sequence by the scores of tokens, which include their constraints, to path, which is 0 before, and
returns its score. weights: float64 [d], not read where transitions are fixed.
"""


class Decoder(NamedTuple):
    """A decoder. allowed: the labels whose scores it reads; empty if it reads all. decode: `DECODE`.

    scores: float64 [T, L], memory for those of sequences of at most T tokens, which is not for several threads: with
    many labels, that of a document would be new memory each time.
    """

    allowed: AllowedLabels
    transitions: Transitions
    scores: Float64Array2d
    decode: Annotated[FirstClassFunction, DECODE]


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
def _decode(scores, kinds, constraints, allowed, transitions, weights, path):
    steps = transitions.fixed
    if len(steps.scores) == 0:
        # Nobody reads those of a single token.
        steps = steps_of(transition_scores(constraints, weights)) if len(path) > 1 else steps
    return viterbi(scores, steps, constraints.start, constraints.end, np.empty_like(scores), path)


@kernel
def _decode_pruned(scores, kinds, constraints, allowed, transitions, weights, path):
    is_fixed = len(transitions.fixed.scores) > 0
    bounds = transitions.bounds if is_fixed else _bounds_in_use(transitions.used, weights)
    left = prune_labels(scores, kinds, allowed, constraints.start, constraints.end, bounds)
    n_left = len(left.labels)
    between = np.zeros((n_left, n_left))
    if is_fixed:
        for i in range(n_left):
            steps = transitions.fixed.scores[left.labels[i]]
            for j in range(n_left):
                between[i, j] = steps[left.labels[j]]
    else:
        _write_in_use(transitions.used, weights, left.number, between)
    return viterbi_pruned(left, between, constraints.start, constraints.end, path)


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
_ALL_ALLOWED = AllowedLabels(_NO_NUMBERS, _NO_LABELS, _NO_NUMBERS, _NO_LABELS)
_NO_TRANSITIONS = Transitions(Steps(_NONE, _NONE, _NOTHING), Bounds(_NOTHING, _NOTHING, _NOTHING, _NOTHING), NO_STEPS)
_PRUNED = FirstClassFunction(_decode_pruned, DECODE)
ALL_LABELS = Decoder(_ALL_ALLOWED, _NO_TRANSITIONS, _NONE, FirstClassFunction(_decode, DECODE))
"""All labels and transitions, whose weights are learnt and numbered by row."""
DECODER_OF_TOKENS = ALL_LABELS._replace(
    transitions=_NO_TRANSITIONS._replace(fixed=Steps(np.zeros((1, 1)), _NONE, _NOTHING))
)
"""For sequences of one token, by fixed weights: nobody reads the transitions."""


def has_many_labels(constraints: Constraints) -> bool:
    """Whether labels are worth leaving out: there are many, and every transition is allowed."""
    return len(constraints.start) >= MANY and not constraints.transition.any()


def learning_decoder(
    constraints: Constraints, used: StepNumbering, longest: int, before: Decoder | None = None
) -> Decoder:
    """The decoder for many labels by transitions that are learnt and numbered by use.

    longest: the largest number of tokens. before: for shorter sequences, with the same constraints and transitions.
    """
    if before is not None and longest <= len(before.scores):
        return before
    allowed = allowed_labels(constraints) if before is None else before.allowed
    scores = np.empty((longest, len(constraints.start)))
    return Decoder(allowed, _NO_TRANSITIONS._replace(used=used), scores, _PRUNED)


def fixed_decoder(constraints: Constraints, transitions: np.ndarray) -> Decoder:
    """The decoder by fixed weights of transitions, float [L, L]."""
    scores = transitions + constraints.transition
    if not has_many_labels(constraints):
        return ALL_LABELS._replace(transitions=_NO_TRANSITIONS._replace(fixed=steps_of(scores)))
    of_many = _NO_TRANSITIONS._replace(fixed=Steps(scores, _NONE, _NOTHING), bounds=bounds_of(scores))
    return Decoder(allowed_labels(constraints), of_many, _NONE, _PRUNED)


def with_kinds(decoder: Decoder, constraints: Constraints) -> Decoder:
    """The decoder for its constraints with further kinds of tokens."""
    if not len(decoder.allowed.labels):
        return decoder
    return decoder._replace(allowed=allowed_labels(constraints, decoder.allowed))
