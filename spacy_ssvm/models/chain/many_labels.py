"""Chains with many labels: weights of transitions, too, are numbered in the order of their use.

Of L² transitions, a few in a hundred ever get a weight. An oracle call that read all of them would take longer for
these than for all else. So it reads the weights in use, which bound the scores of all steps, leaves out the labels that
cannot win (`structures.chain.pruning`), and decodes the rest. The result is exact.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array2d, Int32Array2d, Int64Array, kernel
from ...solvers.problem import Extent, Problem
from ...structures.chain.constraints import AllowedLabels, Constraints, allowed_labels
from ...structures.chain.pruning import MANY, Bounds, prune_labels, viterbi_pruned
from .data import Chains
from .numbered import CHUNK, Numbering, add_rows_in_use, look_up, n_places, place_of
from .oracles import extent, feature_difference
from .scores import add_attributes_of_allowed, add_loss


class StepNumbering(NamedTuple):
    """The places of the weights of transitions, among the first L² of the weight vector.

    places: int32 [L, L], the place of the weight of each transition in use plus 1, or 0. steps: int32 [L², 2], the
    labels of the transition at each place. counts: int64 [1], the number of places in use.
    """

    places: Int32Array2d
    steps: Int32Array2d
    counts: Int64Array


class ManyLabelChains(NamedTuple):
    """Chains with the numberings of their weights, to which oracles append: they must not run in several threads.

    allowed: of the constraints. scores: float64 [T, L], for those of the longest sequence: a document's would be new
    memory each time.
    """

    chains: Chains
    numbering: Numbering
    steps: StepNumbering
    allowed: AllowedLabels
    scores: Float64Array2d


def _many_label_chains(
    chains: Chains, numbering: Numbering, steps: StepNumbering, first: ManyLabelChains | None = None
) -> ManyLabelChains:
    n_first = 0 if first is None else len(first.chains.starts) - 1
    longest = int(np.diff(chains.starts[n_first:]).max(initial=0))
    if first is not None and longest <= len(first.scores):
        return first._replace(chains=chains, numbering=numbering, steps=steps)
    scores = np.empty((longest, len(chains.constraints.start)))
    return ManyLabelChains(chains, numbering, steps, allowed_labels(chains.constraints), scores)


def has_many_labels(constraints: Constraints) -> bool:
    """Whether labels are worth leaving out: there are many, and every transition is allowed."""
    return len(constraints.start) >= MANY and not constraints.transition.any()


def new_steps(n_labels: int, used: np.ndarray) -> StepNumbering:
    """A numbering with places for these transitions, int64, from · L + to, in this order.

    Raises:
        ValueError: a transition does not exist, or occurs twice.
    """
    if len(np.unique(used)) < len(used) or not ((used >= 0) & (used < n_labels * n_labels)).all():
        raise ValueError("its solver state has weights of transitions that it does not have")
    places, steps = np.zeros((n_labels, n_labels), np.int32), np.zeros((n_labels * n_labels, 2), np.int32)
    places.reshape(-1)[used] = 1 + np.arange(len(used))
    steps[: len(used), 0], steps[: len(used), 1] = np.divmod(used, n_labels)
    return StepNumbering(places, steps, np.array([len(used)]))


def used_steps(steps: StepNumbering) -> np.ndarray:
    """The transitions in use, int64, from · L + to, in the order of their places: the inverse of `new_steps`."""
    used = steps.steps[: int(steps.counts[0])].astype(np.int64)
    return used[:, 0] * len(steps.places) + used[:, 1]


@kernel
def _bounds(steps, weights):
    """The `Bounds` of the scores of steps. Transitions that are not in use score 0."""
    n_labels = len(steps.places)
    max_to, min_to = np.zeros(n_labels), np.zeros(n_labels)
    max_from, min_from = np.zeros(n_labels), np.zeros(n_labels)
    for k in range(steps.counts[0]):
        i, j, weight = steps.steps[k, 0], steps.steps[k, 1], weights[k]
        max_to[j], min_to[j] = max(max_to[j], weight), min(min_to[j], weight)
        max_from[i], min_from[i] = max(max_from[i], weight), min(min_from[i], weight)
    return Bounds(max_to, min_to, max_from, min_from)


@kernel
def _transitions_left(steps, weights, number, n_left):
    """Scores of the steps between the labels that are left, float64 [U, U]."""
    transitions = np.zeros((n_left, n_left))
    for k in range(steps.counts[0]):
        i, j = number[steps.steps[k, 0]], number[steps.steps[k, 1]]
        if i >= 0 and j >= 0:
            transitions[i, j] = weights[k]
    return transitions


@kernel
def _step_place(steps, i, j):
    """The place of the weight of a transition, a free one if it has none yet."""
    place = steps.places[i, j]
    if place == 0:
        place = steps.counts[0] + 1
        steps.steps[place - 1, 0], steps.steps[place - 1, 1] = i, j
        steps.places[i, j] = place
        steps.counts[0] = place
    return place - 1


@kernel
def _best_path(data, example, weights, loss_scale, path):
    """Write argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y) to path, int32 [T]."""
    chains = data.chains
    constraints, first, end = chains.constraints, chains.starts[example], chains.starts[example + 1]
    n_labels = len(constraints.start)
    scores = data.scores[: end - first]
    features = chains.feature_starts[first : end + 1]
    found = np.empty(features[-1] - features[0], np.int64)
    look_up(data, features[0], features[-1], n_labels * n_labels, weights, found)
    for t in range(len(scores)):
        score = scores[t]
        score[:] = 0.0
        add_rows_in_use(data, first + t, found[features[t] - features[0] :], weights, score)
        add_attributes_of_allowed(constraints.attributes, data.allowed, chains.kinds[first + t], score)
    if loss_scale != 0.0:
        add_loss(chains, example, loss_scale, scores)
    kinds, bounds = chains.kinds[first:end], _bounds(data.steps, weights)
    left = prune_labels(scores, kinds, data.allowed, constraints.start, constraints.end, bounds)
    transitions = _transitions_left(data.steps, weights, left.number, len(left.labels))
    viterbi_pruned(left, transitions, constraints.start, constraints.end, path)


@kernel
def max_oracle(data, example, weights, loss_scale, indices, values):
    """`oracles.max_oracle` of `ManyLabelChains`."""
    chains = data.chains
    n_labels = len(chains.constraints.start)
    begin = n_labels * n_labels
    path = np.empty(chains.starts[example + 1] - chains.starts[example], np.int32)
    _best_path(data, example, weights, loss_scale, path)
    entries, loss = feature_difference(chains, example, path, indices, values)
    for k in range(entries):
        row = indices[k] // n_labels
        label = indices[k] - row * n_labels
        if indices[k] < begin:
            indices[k] = _step_place(data.steps, row, label)
        else:
            indices[k] = begin + place_of(data.numbering, row - n_labels, label)
    return entries, loss


@kernel
def _decode(data, weights, labels):
    starts = data.chains.starts
    for example in range(len(starts) - 1):
        _best_path(data, example, weights, 0.0, labels[starts[example] : starts[example + 1]])


def decode_in_use(chains: Chains, numbering: Numbering, steps: StepNumbering, weights: np.ndarray) -> np.ndarray:
    """argmax_y wᵀΦ(x_i, y) of every sequence, int32 [T]; weights: float64, numbered as in `many_label_problem`."""
    labels = np.zeros(len(chains.gold), np.int32)
    _decode(_many_label_chains(chains, numbering, steps), weights, labels)
    return labels


def many_label_problem(
    chains: Chains,
    numbering: Numbering,
    steps: StepNumbering,
    known: Extent | None = None,
    first: ManyLabelChains | None = None,
) -> Problem:
    """The problem of labelled sequences, for solvers that call its max-oracle only, and in one thread.

    known: `oracles.extent` of the chains, if they have been found. first: the data of a problem of the first chains.
    """
    known = extent(chains) if known is None else known
    n_labels = len(chains.constraints.start)
    return Problem(
        _many_label_chains(chains, numbering, steps, first),
        max_oracle,
        n_examples=len(chains.starts) - 1,
        dimension=n_labels * n_labels + CHUNK * len(numbering.chunks),
        plane_entries=known.plane_entries,
        n_named=partial(n_places, numbering, n_labels),
        unit=known.unit,
    )
