"""The oracles of a chain: planes of the most violated and of the k best sequences."""

from dataclasses import replace
from functools import partial

import numpy as np

from ...kernels import kernel
from ...solvers.problem import EQUAL_RATES, Cliques, Corrections, Extent, Problem, min_cost
from ...structures.chain.viterbi import k_viterbi
from . import cliques
from .data import Chains, dimension, plane_entries
from .decoders import transition_scores
from .layouts import value_of
from .numbering import CHUNK, n_places, name_places
from .scores import add_loss, decode, emission_scores


@kernel
def _own_attributes(chains, token, label, other, sign, indices, values, entries):
    """Append the features of a token for each attribute of a label that the other one lacks; returns the new number."""
    attributes, n_labels = chains.constraints.attributes, len(chains.constraints.start)
    if len(attributes.nodes) == 0:
        return entries
    node = attributes.nodes[label]
    while node >= 0:
        attribute = attributes.labels[node]
        node, others = attributes.parents[node], attributes.nodes[other]
        while others >= 0 and attributes.labels[others] != attribute:
            others = attributes.parents[others]
        if others < 0:
            for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
                indices[entries] = n_labels * (n_labels + int(chains.rows[f])) + attribute
                values[entries] = sign * value_of(chains.values, f)
                entries += 1
    return entries


@kernel
def feature_difference(chains, example, labels, indices, values):
    """ΔΦ = Φ(x_i, y_i) − Φ(x_i, y) for labels [T], as (index, value) pairs that may repeat an index.

    Returns the number of entries written and the loss Δ(y_i, y).
    """
    n_labels = len(chains.constraints.start)
    first = chains.starts[example]
    entries, loss = 0, 0.0
    for t in range(chains.starts[example + 1] - first):
        token = first + t
        gold, label = chains.gold[token], labels[t]
        if label != gold:
            loss += chains.costs[token]
            for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
                block = n_labels * (n_labels + int(chains.rows[f]))
                indices[entries] = block + gold
                value = value_of(chains.values, f)
                values[entries] = value
                indices[entries + 1] = block + label
                values[entries + 1] = -value
                entries += 2
            entries = _own_attributes(chains, token, gold, label, 1.0, indices, values, entries)
            entries = _own_attributes(chains, token, label, gold, -1.0, indices, values, entries)
        if t > 0 and (label != gold or labels[t - 1] != chains.gold[token - 1]):
            indices[entries] = int(chains.gold[token - 1]) * n_labels + gold
            values[entries] = 1.0
            indices[entries + 1] = int(labels[t - 1]) * n_labels + label
            values[entries + 1] = -1.0
            entries += 2
    return entries, loss


@kernel
def max_oracle(chains, example, weights, loss_scale, indices, values):
    """The plane of argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), in pairs that may repeat.

    Chang & Yih 2013, equation 3; with loss_scale 0 this is plain decoding.
    Returns the number of entries and the (unscaled) loss.
    """
    length = chains.starts[example + 1] - chains.starts[example]
    path = np.empty(length, np.int32)
    decode(chains, example, weights, loss_scale, path)
    entries, loss = feature_difference(chains, example, path, indices, values)
    name_places(chains.numbering, chains.decoder.used, len(chains.constraints.start), indices, entries)
    return entries, loss


@kernel
def decode_k_best(chains, example, weights, loss_scale, best, before, paths, path_scores):
    """The k sequences of largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), as `k_viterbi` returns them.

    Args:
        best, before: scratch of `k_viterbi`, [≥ T, L, k].
        paths: int32 [k, ≥ T].
        path_scores: [k].
    """
    constraints = chains.constraints
    length = chains.starts[example + 1] - chains.starts[example]
    scores = np.empty((length, len(constraints.start)))
    emission_scores(chains, example, weights, scores)
    add_loss(chains, example, loss_scale, scores)
    transitions = transition_scores(chains.constraints, weights)
    return k_viterbi(
        scores, transitions, constraints.start, constraints.end, best[:length], before[:length], paths, path_scores
    )


@kernel
def kbest_oracle(chains, example, weights, loss_scale, k, starts, losses, indices, values):
    """The planes of the k sequences of largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first.

    Plane j is written to starts[j] … starts[j + 1] − 1 of indices and values, in pairs that may repeat, its unscaled
    loss to losses[j]. Returns the number of sequences, at most k.
    """
    length, n_labels = chains.starts[example + 1] - chains.starts[example], len(chains.constraints.start)
    best, before = np.empty((length, n_labels, k)), np.empty((length, n_labels, k), np.int64)
    paths, scores = np.empty((k, length), np.int32), np.empty(k)
    n_sequences = decode_k_best(chains, example, weights, loss_scale, best, before, paths, scores)
    starts[0] = 0
    for j in range(n_sequences):
        begin = starts[j]
        entries, losses[j] = feature_difference(chains, example, paths[j], indices[begin:], values[begin:])
        starts[j + 1] = begin + entries
    return n_sequences


def extent(chains: Chains) -> Extent:
    """The extent of these examples."""
    return Extent(plane_entries(chains), cliques.sizes(chains), min_cost(chains.costs))


def chain_problem(
    chains: Chains, n_rows: int, corrections: Corrections = EQUAL_RATES, known: Extent | None = None
) -> Problem:
    """The problem of labelled sequences; n_rows: the number of rows of the feature index.

    Args:
        corrections: see `Problem`.
        known: `extent` of the chains, if they have been found.
    """
    known = extent(chains) if known is None else known
    return Problem(
        chains,
        max_oracle,
        n_examples=len(chains.starts) - 1,
        dimension=dimension(len(chains.constraints.start), n_rows),
        plane_entries=known.plane_entries,
        cliques=Cliques(known.clique_sizes, cliques.score, cliques.infer, cliques.move),
        kbest_oracle=kbest_oracle,
        corrections=corrections,
        unit=known.unit,
    )


def problem_by_use(chains: Chains, known: Extent | None = None) -> Problem:
    """The problem of labelled sequences whose weights are numbered by use, for solvers that call its max-oracle only,
    and in one thread.

    Args:
        known: `extent` of the chains, if they have been found.
    """
    n_labels, numbering = len(chains.constraints.start), chains.numbering
    return replace(
        chain_problem(chains, 0, known=known),
        dimension=n_labels * n_labels + CHUNK * len(numbering.chunks),
        cliques=None,
        kbest_oracle=None,
        n_named=partial(n_places, numbering, n_labels),
    )
