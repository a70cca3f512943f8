"""The features that fire in the factors of a Doc's label sequences: their names, and their share of the score.

Names are collected from the Docs of training, before features are hashed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from spacy.tokens import Doc

from ...features.extractor import Extractor
from ...features.index import Columns, add_features, empty_table, row_keys
from ...features.names import Source, feature_name
from ...features.templates import select
from ...structures.chain.scored import ChainFactor, LabelSequence

Contributions = list[list[tuple[int, np.ndarray]]]
NamedContributions = list[list[tuple[str, np.ndarray]]]

BETWEEN = " | "
"""Stands between the names of features that share a row."""


class FeatureNames:
    """Names by the keys of rows. known: the names to start with."""

    def __init__(self, known: dict[int, str]) -> None:
        self._known = known

    def add(self, docs: Sequence[Doc], columns: Columns, extractor: Extractor, hash_bits: int) -> None:
        """Add the names of all features of these Docs. hash_bits: 0 for an exact index."""
        attributes, classes = extractor.reader.attributes, extractor.classes
        sources = [
            Source(doc, attributes, columns.keys[:, first:end], classes)
            for doc, (first, end) in zip(docs, pairwise(columns.starts.tolist()))
        ]
        for number, template in enumerate(extractor.templates):
            table, starts, rows, _ = add_features(columns, select(extractor.program, [number]), empty_table())
            _, places = np.unique(rows, return_index=True)
            tokens = np.searchsorted(starts, places, side="right") - 1
            keys = row_keys(table)
            if hash_bits:
                keys = (keys & np.uint64((1 << hash_bits) - 1)) + np.uint64(1)
            of_docs = np.searchsorted(columns.starts, tokens, side="right") - 1
            in_docs = tokens - columns.starts[of_docs]
            for key, doc, token in zip(keys.tolist(), of_docs.tolist(), in_docs.tolist()):
                self._add(key, feature_name(template, sources[doc], token))

    def of_rows(self, keys: np.ndarray) -> tuple[str, ...]:
        """The name of each row, empty if it is unknown. keys: uint64 [R]."""
        return tuple(self._known.get(key, "") for key in keys.tolist())

    def _add(self, key: int, name: str) -> None:
        before = self._known.setdefault(key, name)
        if before != name and name not in before.split(BETWEEN):
            self._known[key] = f"{before}{BETWEEN}{name}"


TRANSITION = "label before"
"""The name of the one feature of a transition."""


def fired_features(
    doc: Doc, extractor: Extractor, columns: Columns, contributions: Callable[[Columns], Contributions]
) -> Callable[[], NamedContributions]:
    """A function that returns the names of the features that fire at each token of a Doc, and their weights for each
    label, float64 [L]. It makes them at the first call.

    Args:
        columns: of this Doc alone.
        contributions: returns for each token the features that fire there, by the numbers of their templates, and their
            weights.
    """
    templates, source = extractor.templates, Source(doc, extractor.reader.attributes, columns.keys, extractor.classes)

    @cache
    def fired() -> NamedContributions:
        return [
            [(feature_name(templates[number], source, token), added) for number, added in features]
            for token, features in enumerate(contributions(columns))
        ]

    return fired


@dataclass(frozen=True, eq=False)
class ChainFeatures:
    """Implements `models.named_parts.FactorFeatures` for one sequence.

    Attributes:
        fired: `fired_features` of its Doc.
        first: the token where it starts.
        transitions: float64 [L, L].
        labels: the names of the weight labels.
    """

    fired: Callable[[], NamedContributions]
    first: int
    transitions: np.ndarray
    labels: Sequence[str]

    def features(self, factor: ChainFactor) -> list[tuple[str, float]]:
        """The name of each feature that fires, and its contribution to the score, without labels' zeros."""
        token, labels = factor
        if len(labels) > 1:
            return [(TRANSITION, float(self.transitions[labels]))]
        return [(name, float(added[labels[0]])) for name, added in self.fired()[self.first + token] if added[labels[0]]]

    def text(self, y: LabelSequence, factor: ChainFactor) -> str:
        """The label that y has at the factor's token, for a transition after that of the token before."""
        token, labels = factor
        return " ".join(self.labels[label] for label in y.labels[token + 1 - len(labels) : token + 1])
