"""Which labels and transitions a chain allows, and which labels single tokens are limited to."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float64Array, Float64Array2d

FORBIDDEN = -1e30
"""Score of what a constraint rules out. Finite: where every path is ruled out, a decoder breaks the fewest."""


class Constraints(NamedTuple):
    """Which labels and transitions are possible; 0 where allowed, FORBIDDEN where not.

    start: float64 [L], for the first token of a sequence.
    end: float64 [L], for its last token.
    transition: float64 [L, L], from label i to label j.
    token: float64 [K, L], one row for each kind of token; a token names its kind by index.
    """

    start: Float64Array
    end: Float64Array
    transition: Float64Array2d
    token: Float64Array2d


def unconstrained(n_labels: int) -> Constraints:
    """Constraints that allow everything, with one kind of token."""
    return Constraints(np.zeros(n_labels), np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros((1, n_labels)))


def with_fixed(constraints: Constraints) -> Constraints:
    """The same with L more kinds of tokens, the last ones, whose label must be 0, 1, …"""
    fixed = np.where(np.eye(len(constraints.start), dtype=np.bool_), 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, fixed]))


def first_fixed(constraints: Constraints) -> int:
    """The first of the kinds that `with_fixed` has added."""
    return len(constraints.token) - len(constraints.start)


def limited(
    constraints: Constraints, kinds: np.ndarray, tokens: np.ndarray, allowed: np.ndarray
) -> tuple[Constraints, np.ndarray]:
    """Further kinds, one for each set of labels that is left to these tokens, and the kinds of all tokens, int32 [T].

    kinds: int32 [T], rows of `constraints.token`. tokens: int64 [M], each once. allowed: bool [M, L]. What the tokens'
    own kinds rule out stays so.
    """
    left = allowed & (constraints.token[kinds[tokens]] > FORBIDDEN / 2)
    sets, numbers = np.unique(left, axis=0, return_inverse=True)
    kinds = kinds.copy()
    kinds[tokens] = len(constraints.token) + numbers.ravel()
    rows = np.where(sets, 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, rows])), kinds


def broken(constraints: Constraints, kinds: np.ndarray, starts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which tokens have a label that is ruled out there, or after that of the token before, bool [T].

    kinds, labels: int32 [T]. starts: int64 [n + 1], first token of each sequence. A sequence that a decoder returns
    breaks something only where all sequences do.
    """
    found = constraints.token[kinds, labels] != 0
    filled = starts[:-1] < starts[1:]
    first, last = starts[:-1][filled], starts[1:][filled] - 1
    found[first] |= constraints.start[labels[first]] != 0
    found[last] |= constraints.end[labels[last]] != 0
    follows = constraints.transition[labels[:-1], labels[1:]] != 0
    follows[first[1:] - 1] = False
    found[1:] |= follows
    return np.asarray(found)
