"""The values that predictions have as token attributes, by vocabulary, and Docs that get them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .codec import Given

ValuesOf = Callable[[Vocab, Sequence[Doc], Sequence[Any]], np.ndarray]
"""A function (vocabulary, Docs, predictions) → spaCy's values of A attributes of all T tokens, uint64 [T, A]."""


def with_values(
    docs: Iterable[Doc], predictions: Sequence[Any], given: Sequence[Given], values_of: ValuesOf
) -> Iterator[tuple[Doc, Any, np.ndarray, Given]]:
    """The Docs that have tokens, their predictions, the values of these, uint64 [tokens, A], and what is given."""
    rows = [row for row in zip(docs, predictions, given) if len(row[0])]
    for vocab, group in groupby(rows, lambda row: row[0].vocab):
        of_vocab = list(group)
        together = values_of(vocab, [doc for doc, _, _ in of_vocab], [prediction for _, prediction, _ in of_vocab])
        first = 0
        for doc, prediction, before in of_vocab:
            yield doc, prediction, together[first : first + len(doc)], before
            first += len(doc)


def write_values(
    attributes: Sequence[int],
    overwrite: bool,
    docs: Iterable[Doc],
    predictions: Sequence[Any],
    given: Sequence[Given],
    values_of: ValuesOf,
) -> None:
    """Set A attributes of all tokens of Docs. overwrite: given values that are set do not stay."""
    for doc, _, values, before in with_values(docs, predictions, given, values_of):
        if not overwrite and before.values is not None:
            values = np.where(before.values != 0, before.values, values)
        doc.from_array(list(attributes), cast(Any, values))
