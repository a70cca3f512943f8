"""Components with one label per token: the largest weights of their labels, the weights of transitions, and tags."""

from collections.abc import Sequence
from typing import cast

from spacy.tokens import Doc

from ..inspect.confidence import checked_count
from ..inspect.weight_tables import TopFeature, Transitions, top_features, transitions
from ..models.chain.weights import ChainWeights
from .asking import of_docs
from .chain_codec import ChainCodec
from .component import SsvmPipe


class ChainComponent(SsvmPipe):
    """A component that labels tokens by the best path through a linear chain."""

    codec: ChainCodec

    def top_features(self, label: str, n: int = 20) -> list[TopFeature]:
        """The n features with the largest weights for a label, of either sign, largest first.

        Args:
            label: one of `labels`, or of `weight_labels`, such as "U-PER"; an entity label has all the weight labels
                that are made of it. The list is shorter than n if fewer weights differ from 0.

        Raises:
            ValueError: n is less than 1, the label is unknown, or the names of the features were not saved.
        """
        self.trained.require_labels()
        wanted = [k for k, known in enumerate(self.weight_labels) if label in (known, self.codec.label_of(known))]
        if not wanted:
            raise ValueError(
                f"[{self.name}] unknown label {label!r}: the labels are {', '.join(self.labels)}; weights are those "
                f"of {', '.join(self.weight_labels)}"
            )
        weights = self._weights
        if weights.names is None:
            raise ValueError(
                f"[{self.name}] the names of its features are not known: train it with save_feature_names = true, "
                "or ask `explain`, which reads them from a Doc"
            )
        return top_features(weights, self.weight_labels, wanted, checked_count(self.name, n, "n"))

    @property
    def transitions(self) -> Transitions:
        """The weights of neighbouring labels, and a table of them.

        Raises:
            ValueError: the component has no labels yet.
        """
        return transitions(self._weights, self.weight_labels, self.codec.kinds.constraints())

    @property
    def _weights(self) -> ChainWeights:
        """The weights that it predicts with."""
        self._predictor()
        return cast(ChainWeights, self.trained.prediction_weights)


class TagComponent(ChainComponent):
    """A component that gives each token a tag."""

    @of_docs
    def scored_tags(self, docs: Sequence[Doc], min_score: float | None = None) -> list[dict[tuple[int, str], float]]:
        """The score of each (token, tag) of a Doc, a probability or, without `has_probabilities`, a margin.

        Args:
            docs: a Doc, or Docs, for which the result is a list.
            min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            TypeError: `docs` are no Docs.
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """
        found = self._asking.scored(docs, min_score)
        return [{(part.start, part.label): score for part, score in of_doc} for of_doc in found]
