"""The annotation of a data set of chains, which may be partial, and its completion."""

from collections.abc import Sequence

import numpy as np

from ...growth import appended, elements, ranges_of
from ..frequency import NEW_LABEL_COST
from .completion import complete, complete_without
from .data import Chains
from .encoded import Runs


class GoldLabels:
    """The gold labels of chains that are added in chunks.

    Args:
        is_new: bool [L], the labels that corrections are to learn.

    Attributes:
        annotated: int32 [T], within the constraints, -1 where unknown.
        have_new: bool [n], the examples with a label that is new; None without such labels.
    """

    def __init__(self, is_new: np.ndarray) -> None:
        self._is_new = is_new
        self.annotated = np.zeros(0, np.int32)
        self.have_new = np.zeros(0, np.bool_) if is_new.any() else None
        self._wrong: list[Runs] = []
        """The runs of labels that each example is known not to have."""
        self._n_known = 0
        """The labels of so many of the first tokens are known."""

    def costs(self, gold: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """The costs of tokens, float64 [T], with these gold labels, int32, -1 where unknown: less where one is new."""
        return costs * np.where(self._is_new_at(gold), NEW_LABEL_COST, 1.0)

    def _is_new_at(self, gold: np.ndarray) -> np.ndarray:
        """Whether each of these gold labels, int32 [T], is new, bool; −1 is not."""
        return np.append(self._is_new, False)[gold]

    def add(self, starts: np.ndarray, annotated: np.ndarray, wrong: Sequence[Runs]) -> None:
        """Append examples; starts: int64 [n + 1], their first tokens. annotated: int32, of these. wrong: runs of labels
        that each example does not have."""
        self.annotated = appended(self.annotated, annotated)
        if self.have_new is not None:
            have_new = np.zeros(len(starts) - 1, np.bool_)
            have_new[ranges_of(starts, np.flatnonzero(self._is_new_at(annotated)))] = True
            self.have_new = appended(self.have_new, have_new)
        self._wrong += wrong

    def keep(self, examples: np.ndarray, tokens: np.ndarray) -> None:
        """Keep these examples only, int64, in this order, with these tokens; their number stands for an empty one."""
        wrong = [*self._wrong, ()]
        self.annotated, self._wrong, self._n_known = self.annotated[tokens], [wrong[k] for k in examples], 0
        if self.have_new is not None:
            self.have_new = np.append(self.have_new, False)[examples]

    def is_incomplete(self) -> bool:
        """Whether a label is unknown."""
        if self._n_known < len(self.annotated) and self.annotated[self._n_known] >= 0:
            unknown = np.flatnonzero(self.annotated[self._n_known :] < 0)
            self._n_known = self._n_known + int(unknown[0]) if len(unknown) else len(self.annotated)
        return self._n_known < len(self.annotated)

    def complete(self, chains: Chains, examples: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """Complete the gold labels of these examples, int64, or of all, with the best ones by w, float64 [d], by row.

        Args:
            chains: all chains.

        Returns:
            The examples that have changed, int64.
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
