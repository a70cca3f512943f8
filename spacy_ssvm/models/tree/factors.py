"""The features that fire in the factors of one sentence's trees, by name, with their contributions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from ...features.arc_program import (
    ARCS,
    ARCS_BETWEEN,
    DISTANCE_ROW,
    FIRST,
    GRANDPARENTS,
    HEAD_LABELS,
    LABELS,
    LABELS_BETWEEN,
    MODIFIER_LABELS,
    N_ARC_ROWS,
    SIBLINGS,
    Sentence,
    conjunctions,
    max_features,
    read_sentence,
    write_between,
    write_features,
)
from ...features.arc_templates import ArcTemplate
from ...features.names import Place, Source, arc_feature_name
from ...structures.tree.parts import ROOT_LABEL
from ...structures.tree.scored import ANY, NO_LABEL, Arc, LabelledTree, TreeFactor
from ..named_parts import NamedPart, PartNames
from .data import Trees, WeightVector, weights_at
from .scores import describe_arc, describe_grand

OF_LABELS = "label by "
"""Prefix of the names of features of an arc's label; the arc itself may have a feature of the same name."""

_TEMPLATES = {
    "arc": (ARCS, ARCS_BETWEEN),
    "label": (LABELS, HEAD_LABELS, MODIFIER_LABELS, LABELS_BETWEEN),
    "sibling": (SIBLINGS,),
    "grandparent": (GRANDPARENTS,),
}

_BETWEEN = (ARCS_BETWEEN, LABELS_BETWEEN)


class Fired(NamedTuple):
    """A feature that fires.

    Attributes:
        template: its number in the order of the program.
        between: the node between head and modifier whose key it reads, or 0.
        distance: the bin of the arc's length, as by `distance_bin`.
        added: the feature's contribution to the score.
    """

    template: int
    between: int
    distance: int
    added: float


@dataclass(frozen=True, eq=False)
class TreeFeatures:
    """Implements `models.named_parts.FactorFeatures` for one sentence of a Doc.

    Attributes:
        trees: the sentences of the Doc.
        sentence: the number of this one.
        weights: to predict with.
        templates: of the program.
        source: of the Doc.
        names: names of arcs, for texts.
    """

    trees: Trees
    sentence: int
    weights: WeightVector
    templates: Sequence[ArcTemplate]
    source: Source
    names: PartNames
    _known: dict[TreeFactor, list[tuple[str, float]]] = field(default_factory=dict)

    @cached_property
    def _read(self) -> Sentence:
        return cast(Sentence, read_sentence(self.trees.columns, self.trees.program, self.sentence))

    def features(self, factor: TreeFactor) -> list[tuple[str, float]]:
        """The name of each feature that fires, and its contribution to the score, if it is not 0."""
        if factor not in self._known:
            self._known[factor] = list(self._named(factor))
        return self._known[factor]

    def text(self, y: LabelledTree, factor: TreeFactor) -> str:
        """The arc that y has to the factor's modifier."""
        first = int(self.trees.columns.starts[self.sentence])
        return self.names.named(y.arc(factor.modifier), first).phrase([token.text for token in self.source.doc])

    def _named(self, factor: TreeFactor) -> Iterator[tuple[str, float]]:
        words = {"head": factor.head, "mod": factor.modifier, "sib": factor.third, "grand": factor.third}
        first, end = self.trees.columns.starts[self.sentence : self.sentence + 2].tolist()
        for feature in fired(self.trees, self._read, self.weights, factor):
            place = Place(first, end, words, feature.between, feature.distance)
            name = arc_feature_name(self.templates[feature.template], self.source, place)
            yield OF_LABELS * (factor.kind == "label") + name, feature.added


def fired(trees: Trees, read: Sentence, weights: WeightVector, factor: TreeFactor) -> list[Fired]:
    """The features of a factor whose weight is not 0; read: the factor's sentence."""
    shape, arc = trees.shape, np.zeros((N_ARC_ROWS, 1), np.int64)
    if factor.kind == "grandparent":
        describe_grand(arc, FIRST, factor.third, factor.head, factor.modifier)
    else:
        describe_arc(arc, FIRST, factor.head, factor.modifier, factor.third)
    is_label = factor.kind == "label"
    bits, first_row = (shape.label_bits, 1 << shape.arc_bits) if is_label else (shape.arc_bits, 0)
    width, label = (weights.label_row or shape.n_labels, factor.label) if is_label else (1, 0)
    bound = max_features(trees.program, read.keys.shape[1] - 2)
    indices, values, ends = np.empty(bound, np.int64), np.empty(bound), np.empty(1, np.int64)
    found = []
    for kind in _TEMPLATES[factor.kind]:
        before = sum(len(conjunctions(read.starts, earlier)) for earlier in range(kind))
        if kind in _BETWEEN:
            at = write_between(read, kind, arc, FIRST, FIRST + 1, bits, indices, values, ends, FIRST)
            places = _places_between(read, kind, factor)
        else:
            at = write_features(read, kind, arc, FIRST, FIRST + 1, bits, indices, values, FIRST)
            places = [(template, 0) for template in range(at)]
        added = weights_at(weights, first_row + indices[:at] * width + label, is_label) * values[:at]
        found += [
            Fired(before + template, between, int(arc[DISTANCE_ROW, 0]), float(product))
            for (template, between), product in zip(places, added.tolist(), strict=True)
            if product
        ]
    return found


def _places_between(read: Sentence, kind: np.integer, factor: TreeFactor) -> list[tuple[int, int]]:
    """The template, counted from the first of its kind, and the node between head and modifier of each feature.

    The order is as in `write_between`.
    """
    left, right = sorted((factor.head, factor.modifier))
    return [
        (template, node)
        for template, t in enumerate(conjunctions(read.starts, kind))
        if read.ones or (read.values[0, factor.head, t] != 0 and read.values[1, factor.modifier, t] != 0)
        for node in range(left + 1, right)
        if read.between[read.sources[t], node] != 0 and read.previous[read.sources[t], node] <= left
    ]


class ArcNames(NamedTuple):
    """Implements `models.named_parts.PartNames`.

    Attributes:
        labels: of the weights.
        unnamed: the label of arcs where no label but the root's has been learnt.
    """

    labels: Sequence[str]
    unnamed: str

    def named(self, part: Arc, first: int) -> NamedPart:
        """An arc of the sentence whose first token is `first`; head None or label "" where the part leaves it open."""
        token = first + part.modifier - 1
        head = None if part.head == ANY else first + (part.head or part.modifier) - 1
        return NamedPart(token, token + 1, self._label(part.label), head, part)

    def parts(self, y: LabelledTree, first: int) -> list[NamedPart]:
        """The arcs of a tree, by token."""
        return [self.named(arc, first) for arc in y.arcs()]

    def part(self, named: NamedPart, first: int) -> Arc:
        """The arc that has this name, for `PartNames.part`; a root is its own head, and has the label of roots."""
        modifier, is_root = named.start - first + 1, named.head == named.start
        known = self.labels[:1] if is_root else self.labels[1:] or (self.unnamed,)
        if named.label not in known:
            kind = "a root" if is_root else "an arc"
            raise ValueError(f"{named.label!r} is no label of {kind}: known are {', '.join(known)}")
        if is_root:
            return Arc(modifier, 0, ROOT_LABEL)
        label = self.labels.index(named.label) if len(self.labels) > 1 else NO_LABEL
        return Arc(modifier, cast(int, named.head) - first + 1, label)

    def _label(self, label: int) -> str:
        if label == ANY:
            return ""
        return self.unnamed if label == NO_LABEL else self.labels[label]
