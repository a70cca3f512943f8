"""Trees with their gold heads and labels, for calibration. The items are the heads of tokens."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from spacy.training import Example

from ..pipeline.gold_trees import ROOT, UNKNOWN, arcs
from ..structures.tree.potentials import Potentials, log_partition, marginals
from ..training.calibration import NONE_OF_THESE, UNKNOWN, Judged
from .confidence import MIN_PROBABILITY
from .tree_analyses import Sentence


class JudgedTree(Judged):
    """A first-order tree of n tokens.

    heads: int64 [n], gold, as places from 1, 0 for the root, UNKNOWN or NONE_OF_THESE. labels: int64 [n], the gold
    weight labels, or the same two.
    """

    def __init__(self, potentials: Potentials, heads: np.ndarray, labels: np.ndarray) -> None:
        self._potentials = potentials
        self.is_annotated = bool((heads != UNKNOWN).any())
        parts = potentials.parts
        into = parts.modifiers - 1
        self._possible = ((heads[into] == UNKNOWN) | (heads[into] == parts.heads))[:, None]
        if len(potentials.label_scores):
            given = labels[into][:, None]
            self._possible = self._possible & (
                (given == UNKNOWN) | (given == np.arange(potentials.label_scores.shape[1]))
            )
        has_alternatives = np.bincount(into, minlength=len(heads)) > 1
        self._items = np.flatnonzero((heads[into] != UNKNOWN) & has_alternatives[into])
        self._right = (heads[into] == parts.heads)[self._items]

    def log_likelihood(self, beta: float) -> float:
        total = log_partition(self._potentials, beta)
        # A large β leaves nothing of the trees to sum.
        return -np.inf if total == -np.inf else min(0.0, log_partition(self._potentials, beta, self._possible) - total)

    def items(self, beta: float) -> tuple[np.ndarray, np.ndarray]:
        listed = self.probabilities(self._items, beta) >= MIN_PROBABILITY
        return self._items[listed], self._right[listed]

    def probabilities(self, items: np.ndarray, beta: float) -> np.ndarray:
        return np.asarray(marginals(self._potentials, beta).arcs[items])


def judged_trees(example: Example, sentences: Iterable[Sentence], weight_labels: Sequence[str]) -> Iterator[JudgedTree]:
    """Those of an example's predicted Doc, sentence by sentence; a gold head in another sentence is none of these."""
    tokens, names = arcs(example)
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(weight_labels)}
    numbers[None] = UNKNOWN
    for first, potentials in sentences:
        end = first + len(potentials.parts.number) - 1
        own = tokens[first:end]
        is_root = own == np.arange(first, end)
        inside = (own >= first) & (own < end)
        heads = np.where(inside, own - first + 1, NONE_OF_THESE)
        heads = np.where(is_root, 0, np.where(own == UNKNOWN, UNKNOWN, heads))
        labels = [numbers.get(name, NONE_OF_THESE) if name != ROOT else UNKNOWN for name in names[first:end]]
        yield JudgedTree(potentials, heads, np.where(is_root, UNKNOWN, labels))
