"""What components with one label a token have besides the others: scores of labels, and tables of weights."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..models.chain.codec import ChainCodec
from .component import SsvmPipe


class ChainComponent(SsvmPipe):
    """A component that labels tokens by the best path through a linear chain."""

    codec: ChainCodec


def filled(
    docs: Iterable[Doc], predictions: Sequence[np.ndarray], values: Callable[[Vocab], np.ndarray]
) -> Iterator[tuple[Doc, np.ndarray, Any]]:
    """The Docs that have tokens, their predicted labels, and spaCy's values for these, uint64 [tokens, A].

    values: gives for a vocabulary the A attributes' values of each weight label, uint64 [L, A].
    """
    pairs = [(doc, labels) for doc, labels in zip(docs, predictions) if len(doc)]
    for vocab, group in groupby(pairs, lambda pair: pair[0].vocab):
        of_vocab = list(group)
        together = values(vocab)[np.concatenate([labels for _, labels in of_vocab])]
        first = 0
        for doc, labels in of_vocab:
            yield doc, labels, together[first : first + len(labels)]
            first += len(labels)
