"""Components with one label per token: the largest weights of their labels, and the weights of transitions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..inspect.confidence import checked_count
from ..inspect.weight_tables import TopFeature, Transitions, top_features, transitions
from .chain_codec import ChainCodec
from .codec import Given
from .component import SsvmPipe


class ChainComponent(SsvmPipe):
    """A component that labels tokens by the best path through a linear chain."""

    codec: ChainCodec

    def top_features(self, label: str, n: int = 20) -> list[TopFeature]:
        """The n features with the largest weights for a label, of either sign, largest first.

        label: one of `labels`, or of `weight_labels`, such as "U-PER"; an entity label has all the weight labels that
        are made of it. The list is shorter than n if fewer weights differ from 0.

        Raises:
            ValueError: n is less than 1, the label is unknown, or the names of the features were not saved.
        """
        self._require_labels()
        wanted = [k for k, known in enumerate(self.weight_labels) if label in (known, self.codec.label_of(known))]
        if not wanted:
            raise ValueError(
                f"[{self.name}] unknown label {label!r}: the labels are {', '.join(self.labels)}; weights are those "
                f"of {', '.join(self.weight_labels)}"
            )
        weights = self._predictor().weights
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
        return transitions(self._predictor().weights, self.weight_labels, self.codec.kinds.constraints())


def filled(
    docs: Iterable[Doc],
    predictions: Sequence[np.ndarray],
    given: Sequence[Given],
    values: Callable[[Vocab, np.ndarray], np.ndarray],
) -> Iterator[tuple[Doc, np.ndarray, Any, Any]]:
    """The Docs that have tokens, their predicted labels, spaCy's values for these, and the values that are given.

    Both values are uint64 [tokens, A]; given ones are None where none is set. values: gives for a vocabulary and weight
    labels, int32 [T], the values of the A attributes, uint64 [T, A].
    """
    rows = [(doc, labels, before.values) for doc, labels, before in zip(docs, predictions, given) if len(doc)]
    for vocab, group in groupby(rows, lambda row: row[0].vocab):
        of_vocab = list(group)
        together = values(vocab, np.concatenate([labels for _, labels, _ in of_vocab]))
        first = 0
        for doc, labels, before in of_vocab:
            yield doc, labels, together[first : first + len(labels)], before
            first += len(labels)
