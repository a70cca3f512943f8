"""The parts of one tree, one by one, and what each of their features adds to its score."""

from typing import Literal, NamedTuple

import numpy as np

from ...features.arc_hashing import (
    ARCS,
    ARCS_BETWEEN,
    FIRST,
    GRANDPARENTS,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    SIBLINGS,
    Sentence,
    max_features,
    write_between,
    write_features,
)
from ...structures.tree.parts import has_grandparents, has_siblings
from ...structures.tree.potentials import LabelledTree
from .data import Shape, Trees
from .scores import describe_arc, describe_grand

Kind = Literal["arc", "label", "sibling", "grandparent"]

_TEMPLATES = {
    "arc": (ARCS, ARCS_BETWEEN),
    "label": (LABELS, HEAD_LABELS, MODIFIER_LABELS, LABELS_BETWEEN),
    "sibling": (SIBLINGS,),
    "grandparent": (GRANDPARENTS,),
}

_BETWEEN = (ARCS_BETWEEN, LABELS_BETWEEN)


class Piece(NamedTuple):
    """An arc, its label, or its pair with the inner neighbour or with the arc above it.

    Nodes are 0 for the root, 1 … n for tokens, and n + 1 for nobody. third: the sibling or the head's head. label: that
    of the kind "label"; -1 for others.
    """

    kind: Kind
    head: int
    modifier: int
    third: int
    label: int = -1


class Fired(NamedTuple):
    """A feature: a template by number, in the order of the program, the node between head and modifier whose key it has
    read, or 0, the bin of the arc's length as `distance_bin` has it, and what the feature adds to the score."""

    template: int
    between: int
    distance: int
    added: float


def pieces(tree: LabelledTree, shape: Shape) -> set[Piece]:
    """What the score of a tree of this shape is a sum over."""
    heads, nobody = [-1, *tree.heads.tolist()], len(tree.heads) + 1
    with_siblings, with_grandparents = has_siblings(shape.structure), has_grandparents(shape.structure)
    found = set()
    for m in range(1, nobody):
        h = heads[m]
        found.add(Piece("arc", h, m, nobody))
        # Labels of arcs from the root have no features of their own.
        if h != 0 and shape.n_labels > 1:
            found.add(Piece("label", h, m, nobody, int(tree.labels[m - 1])))
        if with_siblings:
            step = 1 if h > m else -1
            inner = next((node for node in range(m + step, h, step) if heads[node] == h), nobody)
            found.add(Piece("sibling", h, m, inner))
        if h != 0 and with_grandparents:
            found.add(Piece("grandparent", h, m, heads[h]))
    return found


def fired(trees: Trees, read: Sentence, weights: np.ndarray, piece: Piece) -> list[Fired]:
    """The features of a piece of the sentence that `read` is of whose weight is not 0; weights: float [d]."""
    shape, arc = trees.shape, np.zeros((5, 1), np.int64)
    if piece.kind == "grandparent":
        describe_grand(arc, FIRST, piece.third, piece.head, piece.modifier)
    else:
        describe_arc(arc, FIRST, piece.head, piece.modifier, piece.third)
    is_label = piece.kind == "label"
    bits, first_row = (shape.label_bits, 1 << shape.arc_bits) if is_label else (shape.arc_bits, 0)
    width, label = (shape.n_labels, piece.label) if is_label else (1, 0)
    bound = max_features(trees.program, read.keys.shape[1] - 2)
    indices, values, ends = np.empty(bound, np.int64), np.empty(bound), np.empty(1, np.int64)
    found = []
    for kind in _TEMPLATES[piece.kind]:
        if kind in _BETWEEN:
            at = write_between(read, kind, arc, FIRST, FIRST + 1, bits, indices, values, ends, FIRST)
            places = _places_between(read, kind, piece)
        else:
            at = write_features(read, kind, arc, FIRST, FIRST + 1, bits, indices, values, FIRST)
            places = [(template, 0) for template in range(read.starts[kind, 0], read.starts[kind, -1])]
        added = weights[first_row + indices[:at] * width + label] * values[:at]
        found += [
            Fired(template, between, int(arc[4, 0]), float(worth))
            for (template, between), worth in zip(places, added.tolist(), strict=True)
            if worth
        ]
    return found


def _places_between(read: Sentence, kind: np.integer, piece: Piece) -> list[tuple[int, int]]:
    """The template and the node between of each feature, as `write_between` orders them."""
    left, right = sorted((piece.head, piece.modifier))
    return [
        (template, node)
        for template in range(read.starts[kind, 0], read.starts[kind, -1])
        if read.values[0, piece.head, template] * read.values[1, piece.modifier, template] != 0
        for node in range(left + 1, right)
        if read.between[read.sources[template], node] != 0 and read.previous[read.sources[template], node] <= left
    ]
