"""The features that fire in the factors of one Doc's label sequences, by name, and what each adds to the score."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from spacy.tokens import Doc

from ...features.hashing import Columns
from ...features.names import Source, feature_name
from ...structures.chain.scored import ChainFactor, ChainScores, LabelSequence
from .predictor import ChainPredictor

TRANSITION = "label before"
"""The name of the one feature of a transition."""


class ChainFeatures:
    """Implements `models.scored.FactorFeatures` for one Doc.

    columns, scores: of this Doc alone, from the same `decoder`. labels: the names of the weight labels.
    """

    def __init__(
        self, doc: Doc, decoder: ChainPredictor, columns: Columns, scores: ChainScores, labels: Sequence[str]
    ) -> None:
        self._decoder = decoder
        self._columns = columns
        self._transitions = scores.transitions
        self._labels = labels
        self._source = Source(doc, decoder.extractor.reader.attributes, columns.keys, decoder.extractor.clusters)

    def features(self, factor: ChainFactor) -> list[tuple[str, float]]:
        """The name of each feature that fires, and what it adds to the score; those of labels are not 0."""
        token, labels = factor
        if len(labels) > 1:
            return [(TRANSITION, float(self._transitions[labels]))]
        return [(name, float(added[labels[0]])) for name, added in self._of_tokens[token] if added[labels[0]]]

    def text(self, y: LabelSequence, factor: ChainFactor) -> str:
        """The label that y has at the factor's token, for a transition after that of the token before."""
        token, labels = factor
        return " ".join(self._labels[label] for label in y.labels[token + 1 - len(labels) : token + 1])

    @cached_property
    def _of_tokens(self) -> list[list[tuple[str, np.ndarray]]]:
        templates = self._decoder.extractor.templates
        return [
            [(feature_name(templates[number], self._source, token), added) for number, added in features]
            for token, features in enumerate(self._decoder.contributions(self._columns))
        ]
