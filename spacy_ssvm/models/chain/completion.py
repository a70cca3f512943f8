"""The gold labels of chains: annotation in part is completed, and gold that no legal sequence agrees with projected."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush

import numpy as np

from ...growth import appended, elements, ranges_of
from ...kernels import kernel
from ...structures import FORBIDDEN
from ...structures.chain.constraints import broken
from ..frequency import NEW_LABEL_COST
from .data import Chains
from .encoded import Runs
from .scores import add_loss, best_path, decode_sequences, emission_scores
from .weights import split

UNLIKELY = -1e6
"""Score of a transition that occurs only in annotation; finite, so that sums with it keep their digits."""


def complete(chains: Chains, examples: np.ndarray, annotated: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Complete the given examples, int64, by constrained decoding with w, float64 [d].

    Args:
        annotated: int32 [T], gold labels where known, else -1; some legal sequence must agree with them.

    Returns:
        The examples whose gold sequence has changed; planes of their old sequence are void.
    """
    agreeing = _agreeing(chains, examples, annotated)
    return _relabel(chains, examples, decode_sequences(agreeing, weights, examples, FORBIDDEN))


def _agreeing(chains: Chains, examples: np.ndarray, annotated: np.ndarray) -> Chains:
    """Chains whose losses count the tokens, in these examples, whose label differs from `annotated`.

    Args:
        annotated: int32 [T], the label of each token; -1 where any label agrees.
    """
    tokens, costs = elements(chains.starts, examples), np.zeros(len(annotated))
    costs[tokens] = annotated[tokens] >= 0
    return chains._replace(gold=annotated, costs=costs)


def _relabel(chains: Chains, examples: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Give the examples these gold labels, int32 [T]. Returns the examples that had others, ascending."""
    tokens = elements(chains.starts, examples)
    changed = tokens[chains.gold[tokens] != labels[tokens]]
    chains.gold[changed] = labels[changed]
    return ranges_of(chains.starts, changed)


@contextmanager
def new_labels_ruled_out(weights: np.ndarray, is_new: np.ndarray) -> Iterator[None]:
    """Within this context, the transitions among these weights, float64 [d], rule out new labels, bool [L], where they
    are unknown."""
    transitions, _ = split(weights, len(is_new))
    before = transitions.copy()
    if not is_new.all():
        transitions[is_new, :] += UNLIKELY
        transitions[:, is_new] += UNLIKELY
    try:
        yield
    finally:
        transitions[:] = before


@kernel
def _best_without(chains, example, weights, tokens, labels, path):
    """Write the best sequence of agreeing chains without label k at token k to path, which is 0; returns its score."""
    scores = np.empty((len(path), len(chains.constraints.start)))
    emission_scores(chains, example, weights, scores)
    add_loss(chains, example, FORBIDDEN, scores)
    for k in range(len(tokens)):
        scores[tokens[k], labels[k]] += FORBIDDEN
    return best_path(chains, example, weights, scores, path)


def complete_without(
    chains: Chains, example: int, annotated: np.ndarray, weights: np.ndarray, runs: Sequence[tuple[int, np.ndarray]]
) -> np.ndarray:
    """The best completion of one example, int32 [T], among those that contain none of these runs of labels.

    Args:
        annotated, weights: as in `complete`.
        runs: for each run, the token of the sequence where it starts, and its labels. A run is ignored if all of its
            labels are annotated, or if the constraints allow no sequence without it.

    The result is exact: a sequence without a run differs from it at one of the run's tokens. So a best sequence that
    contains a run is replaced by the best sequences without the run's label at each of its tokens, until the best of
    all these contains no run.
    """
    first, end = int(chains.starts[example]), int(chains.starts[example + 1])
    known, agreeing = annotated[first:end], _agreeing(chains, np.array([example]), annotated)

    def best(banned: frozenset[tuple[int, int]]) -> tuple[float, list[tuple[int, int]], np.ndarray]:
        pairs = sorted(banned)
        tokens, labels = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
        path = np.zeros(end - first, np.int32)
        score = _best_without(agreeing, example, weights, tokens, labels, path)
        return -score, pairs, path

    waiting = [best(frozenset())]
    searched = {frozenset[tuple[int, int]]()}
    while True:
        _, pairs, path = heappop(waiting)
        contained = next((run for run in runs if _contains(path, known, *run)), None)
        if contained is None:
            return path
        start, labels = contained
        for token, label in enumerate(labels.tolist(), start):
            banned = frozenset([*pairs, (token, label)])
            if known[token] < 0 and banned not in searched:
                searched.add(banned)
                heappush(waiting, best(banned))
        if not waiting:
            return path


def _contains(path: np.ndarray, known: np.ndarray, start: int, labels: np.ndarray) -> bool:
    """Whether the path has the given labels from `start` on, and at least one of them is not annotated."""
    tokens = slice(start, start + len(labels))
    return np.array_equal(path[tokens], labels) and bool((known[tokens] < 0).any())


def project(chains: Chains, annotated: np.ndarray) -> int:
    """Replace annotation that no legal sequence agrees with by the nearest one (fewest changes) that a sequence has.

    Args:
        annotated: int32 [T], changed in place; chains.gold becomes a legal completion.

    Returns:
        The number of examples whose annotation has changed.
    """
    chains.gold[:] = annotated
    examples = np.flatnonzero(~_are_legal(chains, annotated))
    if len(examples):
        # All scores are 0, but for the penalties.
        bare = chains._replace(feature_starts=np.zeros_like(chains.feature_starts))
        transitions = np.zeros(len(chains.constraints.start) ** 2)
        nearest = decode_sequences(_agreeing(bare, examples, annotated), transitions, examples, -1.0)
        _relabel(chains, examples, nearest)
    wrong = (annotated >= 0) & (annotated != chains.gold)
    annotated[wrong] = chains.gold[wrong]
    return len(np.unique(np.searchsorted(chains.starts, np.flatnonzero(wrong), "right")))


def _are_legal(chains: Chains, annotated: np.ndarray) -> np.ndarray:
    """Whether each example is annotated completely and satisfies the constraints, bool [n]."""
    legal = (annotated >= 0) & ~broken(chains.constraints, chains.kinds, chains.starts, annotated)
    filled = chains.starts[:-1] < chains.starts[1:]
    first = chains.starts[:-1][filled]
    all_legal = np.ones(len(filled), np.bool_)
    all_legal[filled] = np.logical_and.reduceat(legal, first) if len(first) else True
    return all_legal


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
