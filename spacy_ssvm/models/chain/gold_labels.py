"""The annotation of a data set of chains, as far as it is known, and its completion."""

from collections.abc import Sequence

import numpy as np

from ...features.ranges import elements, ranges_of
from ...growth import appended
from .completion import complete, complete_without
from .data import Chains
from .encoded import Runs


class GoldLabels:
    """The gold labels of chains that are added in chunks.

    annotated: int32 [T], within the constraints, -1 where unknown.
    """

    def __init__(self) -> None:
        self.annotated = np.zeros(0, np.int32)
        self._wrong: list[Runs] = []
        """The runs of labels that each example is known not to have."""
        self._n_known = 0
        """The labels of so many of the first tokens are known."""

    def add(self, annotated: np.ndarray, wrong: Sequence[Runs]) -> None:
        """Append examples; annotated: int32, of their tokens. wrong: runs of labels that each of them does not have."""
        self.annotated = appended(self.annotated, annotated)
        self._wrong += wrong

    def keep(self, examples: np.ndarray, tokens: np.ndarray) -> None:
        """Keep these examples only, int64, in this order, with these tokens; their number stands for an empty one."""
        wrong = [*self._wrong, ()]
        self.annotated, self._wrong, self._n_known = self.annotated[tokens], [wrong[k] for k in examples], 0

    def is_incomplete(self) -> bool:
        """Whether a label is unknown."""
        if self._n_known < len(self.annotated) and self.annotated[self._n_known] >= 0:
            unknown = np.flatnonzero(self.annotated[self._n_known :] < 0)
            self._n_known = self._n_known + int(unknown[0]) if len(unknown) else len(self.annotated)
        return self._n_known < len(self.annotated)

    def complete(self, chains: Chains, examples: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Complete the gold labels of these examples, int64, or of all, with the best ones by w, float64 [d], by row.

        chains: all chains. Returns the examples that have changed, int64.
        """
        if examples is None:
            unknown = self._unknown()
        else:
            tokens = elements(chains.starts, np.unique(examples))
            unknown = tokens[self.annotated[tokens] < 0]
        examples = ranges_of(chains.starts, unknown)
        constrained = np.array([bool(self._wrong[example]) for example in examples], np.bool_)
        changed = complete(chains, np.ascontiguousarray(examples[~constrained], np.int64), self.annotated, weights)
        also = [example for example in examples[constrained] if self._complete_without(chains, int(example), weights)]
        return np.sort(np.append(changed, also).astype(np.int64))

    def count_as_annotated(self, chains: Chains) -> bool:
        """Let all completions count as annotated, and cost 1 where they are missed; returns whether there are any."""
        unknown = self._unknown()
        chains.costs[unknown] = 1.0
        self.annotated[unknown] = chains.gold[unknown]
        return len(unknown) > 0

    def _unknown(self) -> np.ndarray:
        """The tokens whose label is unknown, int64."""
        unknown: np.ndarray = self._n_known + np.flatnonzero(self.annotated[self._n_known :] < 0)
        return unknown

    def _complete_without(self, chains: Chains, example: int, weights: np.ndarray) -> bool:
        """Complete one example without the labels that are known to be wrong; returns whether it has changed."""
        gold = chains.gold[chains.starts[example] : chains.starts[example + 1]]
        found = complete_without(chains, example, self.annotated, weights, self._wrong[example])
        changed = not np.array_equal(gold, found)
        gold[:] = found
        return changed
