"""A batch of Docs as a sequence component reads them to learn from."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...features.columns import take_columns
from ...features.index import Columns
from ...growth import elements
from ..documents import digest

Runs = Sequence[tuple[int, np.ndarray]]
"""Labels, int32, from some token of a Doc on."""


class EncodedChains:
    """A batch of n Docs with T tokens as the component reads them.

    Args:
        columns: attribute keys.
        annotated: int32 [T], gold labels, -1 where unknown.
        kinds: int32 [T], rows of the token constraints.
        costs: float64 [T], losses of wrong labels.
        wrong: for each Doc the runs of labels known to be wrong, as token and labels, int32; none by default. Their
            tokens cost 1 where gold is unknown.
    """

    def __init__(
        self,
        columns: Columns,
        annotated: np.ndarray,
        kinds: np.ndarray,
        costs: np.ndarray,
        wrong: "Sequence[Runs] | None" = None,
    ) -> None:
        self.columns = columns
        self.annotated = annotated
        self.kinds = kinds
        self.costs = np.where(annotated >= 0, costs, 0.0)
        self.wrong = [()] * (len(columns.starts) - 1) if wrong is None else wrong
        for first, runs in zip(columns.starts, self.wrong):
            for start, labels in runs:
                tokens = slice(first + start, first + start + len(labels))
                self.costs[tokens] = np.where(annotated[tokens] < 0, 1.0, self.costs[tokens])

    def take(self, docs: list[int]) -> "EncodedChains":
        """Only these Docs."""
        chosen = np.array(docs, np.int64)
        tokens = elements(self.columns.starts, chosen)
        columns = take_columns(self.columns, chosen)
        wrong = [self.wrong[doc] for doc in docs]
        return EncodedChains(columns, self.annotated[tokens], self.kinds[tokens], self.costs[tokens], wrong)

    def digests(self) -> list[bytes]:
        """A digest of each Doc, DIGEST_SIZE bytes: equal for equal input and annotation."""
        (starts, keys, reals), by_token = self.columns, (self.annotated, self.kinds)
        return [
            digest(
                keys[:, first:end],
                reals[:, first:end],
                *(part[first:end] for part in by_token),
                *(np.append(labels, start) for start, labels in wrong),
            )
            for (first, end), wrong in zip(pairwise(starts), self.wrong)
        ]
