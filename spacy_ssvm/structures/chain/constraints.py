"""The labels and transitions that a chain allows, and limits of the labels of single tokens."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Float64Array2d

FORBIDDEN = -1e30
"""Score of a label or transition that is ruled out. Finite, so that decoders break as few constraints as possible."""


class Constraints(NamedTuple):
    """Scores of labels and transitions: 0 where they are allowed, FORBIDDEN where they are ruled out.

    start: float64 [L], for the first token of a sequence.
    end: float64 [L], for its last token.
    transition: float64 [L, L], from label i to label j.
    token: float64 [K, L], one row for each kind of token; tokens refer to kinds by row number.
    """

    start: Float64Array
    end: Float64Array
    transition: Float64Array2d
    token: Float64Array2d


def unconstrained(n_labels: int) -> Constraints:
    """Constraints that allow everything, with one kind of token."""
    return Constraints(np.zeros(n_labels), np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros((1, n_labels)))


def with_fixed(constraints: Constraints) -> Constraints:
    """The same constraints with L further kinds of tokens, the last ones: those whose label must be 0, 1, …"""
    fixed = np.where(np.eye(len(constraints.start), dtype=np.bool_), 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, fixed]))


def first_fixed(constraints: Constraints) -> int:
    """The first of the kinds that `with_fixed` adds."""
    return len(constraints.token) - len(constraints.start)


def only_labels(constraints: Constraints) -> np.ndarray:
    """The one label that each kind of token allows, int32 [K]; −1 for kinds that allow several."""
    allowed = constraints.token > FORBIDDEN / 2
    return np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), -1).astype(np.int32)


def limited(
    constraints: Constraints, kinds: np.ndarray, tokens: np.ndarray, allowed: np.ndarray
) -> tuple[Constraints, np.ndarray]:
    """Limit the labels of single tokens, by a further kind of token for each resulting set of labels.

    kinds: int32 [T], rows of `constraints.token`. tokens: int64 [M], each at most once. allowed: bool [M, L]. Labels
    that the tokens' own kinds rule out remain ruled out. Returns the constraints and the new kinds, int32 [T].
    """
    left = allowed & (constraints.token[kinds[tokens]] > FORBIDDEN / 2)
    sets, numbers = np.unique(left, axis=0, return_inverse=True)
    kinds = kinds.copy()
    kinds[tokens] = len(constraints.token) + numbers.ravel()
    rows = np.where(sets, 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, rows])), kinds


def broken(constraints: Constraints, kinds: np.ndarray, starts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each token has a label that is ruled out, either by itself or after the label before, bool [T].

    kinds, labels: int32 [T]. starts: int64 [n + 1], first token of each sequence. A decoded sequence breaks a
    constraint only if every sequence breaks one.
    """
    is_broken = constraints.token[kinds, labels] != 0
    is_filled = starts[:-1] < starts[1:]
    first, last = starts[:-1][is_filled], starts[1:][is_filled] - 1
    is_broken[first] |= constraints.start[labels[first]] != 0
    is_broken[last] |= constraints.end[labels[last]] != 0
    is_broken_step = constraints.transition[labels[:-1], labels[1:]] != 0
    is_broken_step[first[1:] - 1] = False
    is_broken[1:] |= is_broken_step
    return np.asarray(is_broken)
