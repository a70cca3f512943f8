"""A batch of Docs as a sequence component reads them, and its segmentation into a solver's examples.

Examples are whole Docs, pieces of long ones, or single tokens. An epoch makes one plane of an example of any length, so
that a solver learns little from a few long sequences. Pieces have the features that their tokens have in the whole Doc;
only the transition from one piece to the next one is not scored. Predictions are of whole Docs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...features.columns import take_columns
from ...features.index import Columns
from ...growth import elements
from ...structures.chain.constraints import Constraints
from ..documents import digest

Runs = Sequence[tuple[int, np.ndarray]]
"""Labels, int32, from some token of a Doc on."""


@dataclass(eq=False)
class EncodedChains:
    """A batch of n Docs with T tokens as the component reads them.

    Attributes:
        columns: attribute keys.
        annotated: int32 [T], gold labels, -1 where unknown.
        kinds: int32 [T], rows of the token constraints.
        costs: float64 [T], losses of wrong labels; 0 where gold is unknown, but for `wrong`.
        wrong: for each Doc the runs of labels known to be wrong, as token and labels, int32. Their tokens cost 1 where
            gold is unknown.
    """

    columns: Columns
    annotated: np.ndarray
    kinds: np.ndarray
    costs: np.ndarray
    wrong: Sequence[Runs]

    def __post_init__(self) -> None:
        self.costs = np.where(self.annotated >= 0, self.costs, 0.0)
        for first, runs in zip(self.columns.starts, self.wrong):
            for start, labels in runs:
                tokens = slice(first + start, first + start + len(labels))
                self.costs[tokens] = np.where(self.annotated[tokens] < 0, 1.0, self.costs[tokens])

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


MIN_PIECE = 100
"""The smallest number of tokens of a piece; Docs of less than twice as many are not cut."""


@dataclass(frozen=True)
class Segmentation:
    """The kind of examples that Docs are divided into.

    Attributes:
        of_tokens: each token with a gold label is an example. Otherwise, long Docs are cut into pieces where `outside`
            is the gold label on either side, anywhere if it is None; or not at all, if they are `whole`.
    """

    of_tokens: bool = False
    outside: int | None = None
    whole: bool = False

    @property
    def unit(self) -> str:
        """The name of the examples of a Doc that has several, in the plural."""
        return "tokens" if self.of_tokens else f"pieces of at least {MIN_PIECE} tokens"

    def cuts(
        self, starts: np.ndarray, labels: np.ndarray, wrong: Sequence[Runs], constraints: Constraints
    ) -> np.ndarray:
        """The first tokens of all pieces but the first ones of Docs, int64, ascending; each piece is as short as it may
        be.

        Args:
            starts: int64 [n + 1], the first token of each Doc, and T.
            labels: int32 [T], complete gold labels.
            wrong: runs of labels that each Doc does not have; they stay in one piece.
            constraints: of the chain; a piece starts and ends with labels that a sequence may start and end with.
        """
        long = np.flatnonzero(np.diff(starts) >= 2 * MIN_PIECE)
        if self.whole or not len(long):
            return np.zeros(0, np.int64)
        is_free = np.ones(len(labels), np.bool_) if self.outside is None else labels == self.outside
        for doc in long:
            for first, run in wrong[int(doc)]:
                is_free[starts[doc] + first : starts[doc] + first + len(run)] = False
        may_end, may_start = constraints.end[labels] == 0, constraints.start[labels] == 0
        places = 1 + np.flatnonzero(is_free[1:] & is_free[:-1] & may_end[:-1] & may_start[1:])
        cuts = []
        for first, end in zip(starts[long], starts[long + 1]):
            while (k := np.searchsorted(places, first + MIN_PIECE)) < len(places) and places[k] + MIN_PIECE <= end:
                first = places[k]
                cuts.append(first)
        return np.array(cuts, np.int64)


def runs_of_pieces(wrong: Sequence[Runs], starts: np.ndarray, pieces: np.ndarray) -> Sequence[Runs]:
    """The runs of labels of each piece, from the runs of Docs; none is cut.

    Args:
        starts, pieces: int64, the first token of each Doc and of each piece, and T.
    """
    if len(pieces) == len(starts):
        return wrong
    runs: list[list[tuple[int, np.ndarray]]] = [[] for _ in pieces[1:]]
    for first, of_doc in zip(starts, wrong):
        for start, labels in of_doc:
            piece = int(np.searchsorted(pieces, first + start, "right")) - 1
            runs[piece].append((int(first + start - pieces[piece]), labels))
    return runs
