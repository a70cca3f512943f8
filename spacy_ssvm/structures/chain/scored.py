"""The scores of one sequence's tokens and transitions: its k best label sequences, probabilities and margins."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .. import FORBIDDEN, UNKNOWN
from .forward_backward import Factors, factors_of, normalised, sum_logs, sum_products
from .viterbi import Steps, best_steps, k_viterbi, steps_of, viterbi


class LabelSequence(NamedTuple):
    """A label sequence; labels: int32 [T]."""

    score: float
    labels: np.ndarray


class Run(NamedTuple):
    """A part of a label sequence: the labels of the tokens from `first` on."""

    first: int
    labels: tuple[int, ...]

    @property
    def tokens(self) -> slice:
        return slice(self.first, self.first + len(self.labels))


class ChainFactor(NamedTuple):
    """A term of a sequence's score: (label,) of a token, or (label before, label), the transition to it."""

    token: int
    labels: tuple[int, ...]


class KnownLabels(NamedTuple):
    """Gold labels, some of them unknown; labels: int32 [T], a label, UNKNOWN or NONE_OF_THESE."""

    labels: np.ndarray

    @property
    def is_annotated(self) -> bool:
        """Whether any gold label is known."""
        return bool((self.labels != UNKNOWN).any())

    def agrees(self, part: Run) -> bool | None:
        """Whether the gold labels contain the run; None if the known ones do not decide it."""
        gold = self.labels[part.tokens]
        is_known = gold != UNKNOWN
        if (np.array(part.labels) != gold)[is_known].any():
            return False
        return True if is_known.all() else None


PRECISION = 1e-12
"""A bound of relative rounding errors in sums."""


@dataclass(frozen=True, eq=False)
class TransitionScores:
    """The scores that do not depend on tokens; results computed from them serve all sequences that share them.

    Attributes:
        transitions: float64 [L, L].
        start, end: float64 [L].
    """

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @cached_property
    def steps(self) -> Steps:
        """Steps of decoding, from a label to the next one."""
        return steps_of(self.transitions)

    @cached_property
    def steps_back(self) -> Steps:
        """Steps of decoding, from a label to the one before."""
        return steps_of(self.steps.reverse)

    @cached_property
    def factors(self) -> Callable[[float], Factors]:
        """Factors of sums, as a function of β that remembers the last one."""
        return lru_cache(1)(partial(factors_of, self.transitions, self.start, self.end))


@dataclass(frozen=True, eq=False)
class ChainScores:
    """The scores of all label sequences y: Σ tokens[t, y_t] + Σ transitions[y_(t−1), y_t] + start[y_1] + end[y_T].

    Implements `structures.scored.Scored`, with `LabelSequence`, `Run` and `KnownLabels`.

    Attributes:
        tokens: float64 [T, L].
        between: the other scores. In all of these, a score of FORBIDDEN / 2 or less rules out the label or transition.
    """

    tokens: np.ndarray
    between: TransitionScores

    @property
    def transitions(self) -> np.ndarray:
        return self.between.transitions

    def best(self, k: int) -> list[LabelSequence]:
        """The k best sequences, best first; fewer if fewer are allowed.

        Raises:
            ValueError: k is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        length, n_labels = self.tokens.shape
        if k == 1:
            path, between = np.zeros(length, np.int32), self.between
            lattice = np.empty_like(self.tokens)
            score = viterbi(self.tokens, between.steps, between.start, between.end, lattice, path)
            return [LabelSequence(float(score), path)] if score > FORBIDDEN / 2 else []
        shape = length, n_labels, k
        paths, scores = np.zeros((k, length), np.int32), np.zeros(k)
        arrays = self.tokens, self.transitions, self.between.start, self.between.end
        n_found = k_viterbi(*arrays, np.zeros(shape), np.zeros(shape, np.int64), paths, scores)
        return [LabelSequence(float(score), labels) for score, labels in zip(scores[:n_found], paths)]

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ exp(β · score) over all sequences, or over those whose labels are `possible`; −∞ if there are none.

        β: positive and finite. possible: bool [T, L].
        """
        if possible is not None:
            return replace(self, tokens=np.where(possible, self.tokens, FORBIDDEN)).log_partition(beta)
        total = self._sums(beta)[0]
        return total if total > FORBIDDEN / 2 else -np.inf

    def agreeing(self, known: KnownLabels) -> np.ndarray:
        """The labels that do not contradict the known gold labels, bool [T, L]."""
        gold = known.labels[:, None]
        return (gold == UNKNOWN) | (gold == np.arange(self.tokens.shape[1]))

    def marginals(self, beta: float) -> "Probabilities":
        """The probabilities of labels and runs. β: positive and finite.

        Raises:
            ValueError: every sequence is ruled out.
        """
        total, labels, lattice = self._sums(beta)
        _require_legal(total)
        return Probabilities(lattice, labels)

    def margins(self) -> "Margins":
        """The margins of labels and runs.

        Raises:
            ValueError: every sequence is ruled out.
        """
        return self._margins

    def margins_of(self, best: LabelSequence, parts: Sequence[Run]) -> list[float]:
        """The difference from the best sequence to the best one without each of its runs; ∞ if there is none."""
        margins = (0.0 - self._margins.others[np.arange(len(best.labels)), best.labels]).tolist()
        return [min(margins[part.tokens]) for part in parts]

    def best_without(self, best: LabelSequence, part: Run) -> LabelSequence | None:
        """The best sequence without a run of the best sequence; None if there is no such sequence.

        It differs from the best sequence around one token of the run, and joins it again on both sides.
        """
        tokens, labels = np.arange(part.tokens.start, part.tokens.stop), list(part.labels)
        margins = self._margins
        others, lattice = margins.others[tokens, labels], margins.lattice
        token = part.first + int(np.argmax(others))
        difference = float(others.max())
        if difference == -np.inf:
            return None
        through = margins.through[token].copy()
        through[best.labels[token]] = -np.inf
        path = best.labels.copy()
        path[token] = through.argmax()
        for t in range(token - 1, -1, -1):
            path[t] = np.argmax(lattice.before[t] + self.transitions[:, path[t + 1]])
            if path[t] == best.labels[t]:
                break
        for t in range(token + 1, len(path)):
            path[t] = np.argmax(self.transitions[path[t - 1]] + self.tokens[t] + lattice.after[t])
            if path[t] == best.labels[t]:
                break
        return LabelSequence(best.score + difference, path)

    def best_with(self, part: Run) -> LabelSequence | None:
        """The best among the sequences with a run; None if no sequence has it."""
        lattice, path = self._margins.lattice, np.zeros(len(self.tokens), np.int32)
        path[part.tokens] = part.labels
        first, last = part.first, part.tokens.stop - 1
        score = lattice.before[first, path[first]] + lattice.after[last, path[last]]
        for t in range(first + 1, last + 1):
            score += self.transitions[path[t - 1], path[t]] + self.tokens[t, path[t]]
        if score <= FORBIDDEN / 2:
            return None
        for t in range(first - 1, -1, -1):
            path[t] = np.argmax(lattice.before[t] + self.transitions[:, path[t + 1]])
        for t in range(last + 1, len(path)):
            path[t] = np.argmax(self.transitions[path[t - 1]] + self.tokens[t] + lattice.after[t])
        return LabelSequence(float(score), path)

    def factors(self, y: LabelSequence) -> list[ChainFactor]:
        """The labels and transitions of a sequence, by token."""
        labels = y.labels.tolist()
        factors = [ChainFactor(0, (labels[0],))] if labels else []
        for token, pair in enumerate(pairwise(labels), 1):
            factors += [ChainFactor(token, pair[1:]), ChainFactor(token, pair)]
        return factors

    @cached_property
    def _margins(self) -> "Margins":
        between = self.between
        before, after, through, others, total, rounding = _maxima(
            self.tokens, between.steps, between.steps_back, between.start, between.end
        )
        _require_legal(total)
        return Margins(Lattice(self.tokens, self.transitions, before, after, total, rounding, True), through, others)

    def _sums(self, beta: float) -> "tuple[float, np.ndarray, Lattice]":
        """The log-partition, the probabilities of labels, float64 [T, L], and the lattice of sums."""
        factors = self.between.factors(beta)
        total, labels, *products = _all_products(self.tokens, factors, beta)
        if not math.isnan(total):
            tokens, before, after = products
            return total, labels, Lattice(tokens, factors.steps, before, after, 1.0, PRECISION, False)
        between = self.between
        parts = self.tokens, between.transitions, between.start, between.end
        tokens, transitions, *ends = (np.where(part > FORBIDDEN / 2, beta * part, FORBIDDEN) for part in parts)
        total, labels, before, after, rounding = _all_logs(tokens, transitions, *ends)
        return total, labels, Lattice(tokens, transitions, before, after, 0.0, rounding, True)


class Lattice(NamedTuple):
    """The terms of the value of all sequences with a run of labels: before · Π (transition · token) · after.

    The value is the probability of these sequences or, `in_logs`, a sum: its logarithm, or the score of the best one.

    Attributes:
        tokens: float64 [T, L].
        transitions: float64 [L, L].
        before: float64 [T, L], of the beginnings that end at a label, its own token included.
        after: float64 [T, L], of the continuations of a label, its own token excluded.
        total: of all sequences.
        rounding: a bound of rounding errors in values; sums on the way may be larger than `total`.
    """

    tokens: np.ndarray
    transitions: np.ndarray
    before: np.ndarray
    after: np.ndarray
    total: float
    rounding: float
    in_logs: bool


class Probabilities(NamedTuple):
    """Marginals; labels: float64 [T, L], the probability of each label at each token. lattice: of sums."""

    lattice: Lattice
    labels: np.ndarray

    def values(self) -> np.ndarray:
        """The probability of each label at each token, float64 [T, L]."""
        return self.labels

    def probability(self, part: Run) -> float:
        """The probability of all sequences that contain the run."""
        tokens, transitions, before, after, _, _, in_logs = self.lattice
        first, end, labels = part.first, part.tokens.stop, part.labels
        factors = [before[first, labels[0]]]
        for token, pair in enumerate(pairwise(labels), first + 1):
            factors += [transitions[pair], tokens[token, pair[1]]]
        factors.append(after[end - 1, labels[-1]])
        return min(1.0, math.exp(math.fsum(factors)) if in_logs else math.prod(factors))

    def has_alternative(self, part: Run) -> bool:
        """Whether any token of the run can have another label."""
        return bool(((self.labels[part.tokens] > 0.0).sum(axis=1) > 1).any())


class Margins(NamedTuple):
    """Differences of maxima; lattice: of maxima, with the scores themselves.

    Attributes:
        through: float64 [T, L], the best score with a label at a token minus the best score; −∞ if there is none, 0
            where the difference is below rounding: the best score added up in another order may be larger.
        others: float64 [T, L], the largest value of `through` among the token's other labels; −∞ if none.
    """

    lattice: Lattice
    through: np.ndarray
    others: np.ndarray

    def values(self) -> np.ndarray:
        """The margin of each label at each token, float64 [T, L].

        It is positive for labels of the best sequence only; −∞ if no sequence has the label, ∞ if all have it.
        """
        return self.through - self.others


def labels_above(measures: Probabilities | Margins, min_value: float) -> Iterator[tuple[Run, float]]:
    """The labels of single tokens whose probability or margin is at least `min_value`, with that value."""
    values = measures.values()
    tokens, labels = (values >= min_value).nonzero()
    return zip(map(Run, tokens.tolist(), zip(labels.tolist())), values[tokens, labels].tolist())


@kernel
def _all_products(scores, factors, beta):
    """The log-partition, nan where a product might underflow, the probabilities of labels, and the arrays of
    `sum_products`."""
    tokens, before, after = np.empty_like(scores), np.empty_like(scores), np.empty_like(scores)
    total = sum_products(scores, factors, beta, tokens, before, after)
    labels = before if math.isnan(total) else normalised(before, after, False)
    return total, labels, tokens, before, after


@kernel
def _all_logs(scores, transitions, start, end):
    """The log-partition, probabilities of labels, arrays of `sum_logs` and a bound of rounding, of scores times β."""
    before, after = np.empty_like(scores), np.empty_like(scores)
    total = sum_logs(scores, transitions, start, end, before, after)
    return total, normalised(before, after, True), before, after, _rounding(before, total)


@kernel
def _rounding(before, total):
    """A bound of rounding errors in differences of sums of scores."""
    largest = abs(total)
    for row in before:
        for j in range(len(row)):
            if row[j] > FORBIDDEN / 2:
                largest = max(largest, abs(row[j]))
    return PRECISION * largest


@kernel
def _maxima(scores, steps, steps_back, start, end):
    """The parts of `Margins`: before, after, through, others, total, rounding."""
    length, n_labels = scores.shape
    before, after = np.empty_like(scores), np.empty_like(scores)
    through, others = np.empty_like(scores), np.empty_like(scores)
    if length == 0:
        return before, after, through, others, 0.0, 0.0
    ahead = np.empty(n_labels)
    for j in range(n_labels):
        before[0, j] = start[j] + scores[0, j]
        after[length - 1, j] = end[j]
    for t in range(1, length):
        row = before[t]
        best_steps(before[t - 1], steps, row)
        for j in range(n_labels):
            row[j] += scores[t, j]
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            ahead[j] = scores[t + 1, j] + after[t + 1, j]
        best_steps(ahead, steps_back, after[t])
    total = -np.inf
    for j in range(n_labels):
        total = max(total, before[length - 1, j] + end[j])
    rounding = _rounding(before, total)
    for t in range(length):
        best, second = -np.inf, -np.inf
        for j in range(n_labels):
            value = before[t, j] + after[t, j]
            value = value - total if value > FORBIDDEN / 2 else -np.inf
            if value > -rounding:
                value = 0.0
            through[t, j] = value
            second = max(second, min(best, value))
            best = max(best, value)
        for j in range(n_labels):
            others[t, j] = second if through[t, j] == best else best
    return before, after, through, others, total, rounding


def _require_legal(total: float) -> None:
    if total <= FORBIDDEN / 2:
        raise ValueError("every label sequence is ruled out")
