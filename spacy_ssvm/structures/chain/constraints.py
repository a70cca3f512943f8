"""The labels of a chain: which of them and which transitions it allows, limits of single tokens, common attributes."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ...growth import joined_starts
from ...kernels import Float64Array, Float64Array2d, Int32Array, Int64Array
from .. import FORBIDDEN


class Attributes(NamedTuple):
    """The attributes that labels share.

    Each attribute is a label that no token can have, and that has no attributes itself.

    A label's score at a token is the sum of its own weights and its attributes' weights. So labels with common
    attributes learn from each other. Labels whose attributes begin alike share nodes of a tree, and partial sums.

    Attributes:
        nodes: int32 [L], the last node of each label, -1 for one without attributes; empty if no label has any.
        parents: int32 [N], the node before each node, a lower one, or -1.
        labels: int32 [N], the attribute of each node.
    """

    nodes: Int32Array
    parents: Int32Array
    labels: Int32Array


NO_ATTRIBUTES = Attributes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32))
"""Each label has weights of its own only."""


class Constraints(NamedTuple):
    """Scores of labels and transitions: 0 where they are allowed, FORBIDDEN where they are ruled out.

    Attributes:
        start: float64 [L], for the first token of a sequence.
        end: float64 [L], for its last token.
        transition: float64 [L, L], from label i to label j.
        token: float64 [K, L], one row for each kind of token; tokens refer to kinds by row number.
        attributes: of the labels.
    """

    start: Float64Array
    end: Float64Array
    transition: Float64Array2d
    token: Float64Array2d
    attributes: Attributes = NO_ATTRIBUTES


def unconstrained(n_labels: int) -> Constraints:
    """Constraints that allow everything, with one kind of token."""
    return Constraints(np.zeros(n_labels), np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros((1, n_labels)))


def with_attributes(constraints: Constraints, attributes: Sequence[Sequence[int]]) -> Constraints:
    """Constraints where labels have these attributes, which no token can have.

    Args:
        attributes: for each of the L labels, the labels that are its attributes.
    """
    counts = Counter(chain.from_iterable(attributes))
    numbers: dict[tuple[int, int], int] = {}
    nodes = np.full(len(attributes), -1, np.int32)
    for label, own in enumerate(attributes):
        # The most frequent ones first: they are shared by most labels.
        for attribute in sorted(own, key=lambda attribute: (-counts[attribute], attribute)):
            nodes[label] = numbers.setdefault((int(nodes[label]), attribute), len(numbers))
    parents, labels = np.array(list(numbers), np.int32).reshape(-1, 2).T.copy()
    token = constraints.token.copy()
    token[:, labels] = FORBIDDEN
    return constraints._replace(token=token, attributes=Attributes(nodes, parents, labels))


def max_attributes(attributes: Attributes) -> int:
    """The largest number of attributes of a label."""
    depths = [0]
    for parent in attributes.parents.tolist():
        depths.append(1 + depths[parent + 1])
    return max(depths)


def with_fixed(constraints: Constraints) -> Constraints:
    """Constraints with L further kinds of tokens, the last ones: with the fixed label 0, 1, …"""
    fixed = np.where(np.eye(len(constraints.start), dtype=np.bool_), 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, fixed]))


def first_fixed(constraints: Constraints) -> int:
    """The first of the kinds that `with_fixed` adds."""
    return len(constraints.token) - len(constraints.start)


def only_labels(constraints: Constraints) -> np.ndarray:
    """The one label that each kind of token allows, int32 [K]; −1 for kinds that allow several."""
    allowed = constraints.token > FORBIDDEN / 2
    return np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), -1).astype(np.int32)


class AllowedLabels(NamedTuple):
    """The labels that each of K kinds of tokens allows, and the nodes of `Attributes` that their scores need.

    Kind k has labels[label_starts[k] : label_starts[k + 1]] and nodes[node_starts[k] : node_starts[k + 1]], both
    ascending. A token must have a label: a kind that rules out all of them has all here, attributes included.
    """

    label_starts: Int64Array
    labels: Int32Array
    node_starts: Int64Array
    nodes: Int32Array


def allowed_labels(constraints: Constraints, first_kinds: AllowedLabels | None = None) -> AllowedLabels:
    """The `AllowedLabels` of all kinds. first_kinds: of the first kinds, which are not computed again."""
    if first_kinds is not None:
        further = constraints._replace(token=constraints.token[len(first_kinds.label_starts) - 1 :])
        return _joined(first_kinds, allowed_labels(further)) if len(further.token) else first_kinds
    allowed = constraints.token > FORBIDDEN / 2
    allowed[~allowed.any(axis=1)] = True
    nodes, parents = constraints.attributes.nodes.tolist(), constraints.attributes.parents.tolist()
    of_labels, needed = allowed.T.copy(), np.zeros((len(parents), len(allowed)), np.bool_)
    for label, node in enumerate(nodes):
        if node >= 0:
            needed[node] |= of_labels[label]
    for node in reversed(range(len(parents))):
        if parents[node] >= 0:
            needed[parents[node]] |= needed[node]
    return AllowedLabels(*_lists(allowed), *_lists(needed.T))


def _lists(members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that are true in each row, one row after the other: where each row starts, int64; columns, int32."""
    starts = np.concatenate([[0], np.cumsum(members.sum(axis=1))])
    return starts, np.nonzero(members)[1].astype(np.int32)


def _joined(first: AllowedLabels, second: AllowedLabels) -> AllowedLabels:
    return AllowedLabels(
        joined_starts([first.label_starts, second.label_starts]),
        np.concatenate([first.labels, second.labels]),
        joined_starts([first.node_starts, second.node_starts]),
        np.concatenate([first.nodes, second.nodes]),
    )


def limited(
    constraints: Constraints, kinds: np.ndarray, tokens: np.ndarray, allowed: np.ndarray
) -> tuple[Constraints, np.ndarray]:
    """Limit the labels of single tokens, by a further kind of token for each resulting set of labels.

    Args:
        kinds: int32 [T], rows of `constraints.token`.
        tokens: int64 [M], each at most once.
        allowed: bool [M, L]. Labels that the tokens' own kinds rule out remain ruled out.

    Returns:
        The constraints and the new kinds, int32 [T].
    """
    left = allowed & (constraints.token[kinds[tokens]] > FORBIDDEN / 2)
    sets, numbers = np.unique(left, axis=0, return_inverse=True)
    kinds = kinds.copy()
    kinds[tokens] = len(constraints.token) + numbers.ravel()
    rows = np.where(sets, 0.0, FORBIDDEN)
    return constraints._replace(token=np.concatenate([constraints.token, rows])), kinds


def without(constraints: Constraints, labels: np.ndarray) -> Constraints:
    """Rule out these labels, int64, for all kinds of tokens that may have others."""
    token = constraints.token.copy()
    token[:, labels] = FORBIDDEN
    is_left = (token > FORBIDDEN / 2).any(axis=1, keepdims=True)
    return constraints._replace(token=np.where(is_left, token, constraints.token))


def broken(constraints: Constraints, kinds: np.ndarray, starts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each token has a label that is ruled out, either by itself or after the label before, bool [T].

    Args:
        kinds, labels: int32 [T].
        starts: int64 [n + 1], first token of each sequence. A decoded sequence breaks a constraint only if every
            sequence breaks one.
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
