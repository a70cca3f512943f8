"""The scores of one sequence's tokens and transitions: its k best label sequences, probabilities and margins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .. import UNKNOWN
from .constraints import FORBIDDEN
from .forward_backward import backward, forward, steps_backward, steps_forward
from .viterbi import best_steps, k_viterbi, steps_of, viterbi


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
    """Gold labels, of which some may be unknown; labels: int32 [T], a label, UNKNOWN or NONE_OF_THESE."""

    labels: np.ndarray

    @property
    def is_annotated(self) -> bool:
        """Whether any gold label is known."""
        return bool((self.labels != UNKNOWN).any())

    def agrees(self, part: Run) -> bool | None:
        """Whether the gold labels contain the run; None if the known ones do not decide it."""
        gold = self.labels[part.tokens]
        known = gold != UNKNOWN
        if (np.array(part.labels) != gold)[known].any():
            return False
        return True if known.all() else None


@dataclass(frozen=True, eq=False)
class ChainScores:
    """The scores of all label sequences y: Σ tokens[t, y_t] + Σ transitions[y_(t−1), y_t] + start[y_1] + end[y_T].

    Implements `models.protocol.Scored`, with `LabelSequence`, `Run` and `KnownLabels`.

    tokens: float64 [T, L]. transitions: float64 [L, L]. start, end: float64 [L]. In all of these, a score of
    FORBIDDEN / 2 or less rules out the label or transition.
    """

    tokens: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def best(self, k: int) -> list[LabelSequence]:
        """The k best sequences, best first; fewer if fewer are allowed.

        Raises:
            ValueError: k is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        length, n_labels = self.tokens.shape
        if k == 1:
            path, steps = np.zeros(length, np.int32), steps_of(self.transitions)
            score = viterbi(self.tokens, steps, self.start, self.end, np.empty_like(self.tokens), path)
            return [LabelSequence(float(score), path)] if score > FORBIDDEN / 2 else []
        lattice = length, n_labels, k
        paths, scores = np.zeros((k, length), np.int32), np.zeros(k)
        arrays = self.tokens, self.transitions, self.start, self.end
        found = k_viterbi(*arrays, np.zeros(lattice), np.zeros(lattice, np.int64), paths, scores)
        return [LabelSequence(float(score), labels) for score, labels in zip(scores[:found], paths)]

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ exp(β · score) over all sequences, or over those whose labels are `possible`; −∞ if there are none.

        β: positive and finite. possible: bool [T, L].
        """
        scores = self
        if possible is not None:
            scores = replace(self, tokens=np.where(possible, self.tokens, FORBIDDEN))
        scaled = scores._scaled(beta)
        steps, lattice = steps_forward(scaled.transitions), np.zeros_like(scaled.tokens)
        total = float(forward(scaled.tokens, steps, scaled.start, scaled.end, lattice))
        return total if total > FORBIDDEN / 2 else -np.inf

    def agreeing(self, known: KnownLabels) -> np.ndarray:
        """The labels that do not contradict the known gold labels, bool [T, L]."""
        gold = known.labels[:, None]
        return (gold == UNKNOWN) | (gold == np.arange(self.tokens.shape[1]))

    def marginals(self, beta: float) -> "Lattice":
        """The lattice of log-sums of exp(β · score), whose values are probabilities. β: positive and finite.

        Raises:
            ValueError: every sequence is ruled out.
        """
        scaled = self._scaled(beta)
        before, after = np.zeros_like(scaled.tokens), np.zeros_like(scaled.tokens)
        steps = steps_forward(scaled.transitions)
        total = forward(scaled.tokens, steps, scaled.start, scaled.end, before)
        backward(scaled.tokens, steps_backward(steps), scaled.end, after)
        return _legal(Lattice(scaled, before, after, total, is_sum=True))

    def margins(self) -> "Lattice":
        """The lattice of maxima, whose values are margins.

        Raises:
            ValueError: every sequence is ruled out.
        """
        return self._maxima

    def margins_of(self, best: LabelSequence, parts: Sequence[Run]) -> list[float]:
        """How far the best sequence without each run of the best sequence is below it; ∞ if there is none."""
        margins = (0.0 - self._maxima.others[np.arange(len(best.labels)), best.labels]).tolist()
        return [min(margins[part.tokens]) for part in parts]

    def best_without(self, best: LabelSequence, part: Run) -> LabelSequence | None:
        """The best sequence without a run of the best sequence; None if there is no such sequence.

        It differs from the best sequence around one token of the run, and joins it again on both sides.
        """
        tokens, labels = np.arange(part.tokens.start, part.tokens.stop), list(part.labels)
        lattice = self._maxima
        others = lattice.others[tokens, labels]
        token = part.first + int(np.argmax(others))
        difference = float(others.max())
        if difference == -np.inf:
            return None
        through = lattice.through[token].copy()
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
        """The best sequence with a run, whatever the best sequence is; None if no sequence has it."""
        lattice, path = self._maxima, np.zeros(len(self.tokens), np.int32)
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
    def _maxima(self) -> "Lattice":
        before, after = np.zeros_like(self.tokens), np.zeros_like(self.tokens)
        _fill_maxima(self.tokens, self.transitions, self.start, self.end, before, after)
        total = float(np.max(before[-1] + self.end)) if len(before) else 0.0
        return _legal(Lattice(self, before, after, total, is_sum=False))

    def _scaled(self, beta: float) -> "ChainScores":
        """β times the scores; ruled-out labels and transitions remain FORBIDDEN."""
        parts = self.tokens, self.transitions, self.start, self.end
        return ChainScores(*(np.where(part > FORBIDDEN / 2, beta * part, FORBIDDEN) for part in parts))


@dataclass(frozen=True, eq=False)
class Lattice:
    """Log-sums, or maxima, of the scores of the beginnings and continuations of all sequences.

    before: float64 [T, L], over the beginnings that end at a label, its own score included. after: float64 [T, L], over
    the continuations of a label, its own score excluded. total: over all sequences. All in the unit of `scores`.
    is_sum: whether these are log-sums; if not, maxima.
    """

    scores: ChainScores
    before: np.ndarray
    after: np.ndarray
    total: float
    is_sum: bool

    @cached_property
    def rounding(self) -> float:
        """A bound of rounding errors in differences of sums; intermediate sums may be larger than `total`."""
        sums = np.abs(self.before[self.before > FORBIDDEN / 2]).max(initial=0.0)
        return 1e-12 * max(abs(self.total), float(sums))

    @cached_property
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """`total` as each token has it, the sum of two arrays float64 [T, 1], of which the first may be large.

        A log-sum is that of the token itself: the rounding of the sums before and after it, which adds up over a long
        sequence, is then the same in all terms of a probability.
        """
        if not self.is_sum:
            return np.full((len(self.before), 1), self.total), np.zeros((len(self.before), 1))
        through = self.before + self.after
        highest = through.max(axis=1, keepdims=True)
        return highest, np.log(np.exp(through - highest).sum(axis=1, keepdims=True))

    @cached_property
    def through(self) -> np.ndarray:
        """The value of all sequences with a label at a token minus `total`, float64 [T, L]; −∞ if there are none.

        At most 0, and 0 where the difference is below rounding: the best score added up in another order may be larger.
        """
        through, (large, small) = self.before + self.after, self.totals
        differences = np.where(through > FORBIDDEN / 2, through - large - small, -np.inf)
        return np.where(differences > (0.0 if self.is_sum else -self.rounding), 0.0, differences)

    @cached_property
    def others(self) -> np.ndarray:
        """For each label, the largest value of `through` among the token's other labels, float64 [T, L]; −∞ if none."""
        if self.through.shape[1] < 2:
            return np.full_like(self.through, -np.inf)
        ranked = np.partition(self.through, -2, axis=1)
        best, second = ranked[:, -1:], ranked[:, -2:-1]
        return np.where(self.through == best, second, best)

    def values(self) -> np.ndarray:
        """The probability or the margin of each label at each token, float64 [T, L].

        A margin is positive for labels of the best sequence only; −∞ if no sequence has the label, ∞ if all have it.
        """
        return np.exp(self.through) if self.is_sum else self.through - self.others

    def probability(self, part: Run) -> float:
        """The probability of all sequences that contain the run; the lattice must be one of log-sums."""
        first, end, labels = part.first, part.tokens.stop, np.array(part.labels)
        transitions = self.scores.transitions[labels[:-1], labels[1:]]
        tokens = self.scores.tokens[np.arange(first + 1, end), labels[1:]]
        ends = self.before[first, labels[0]] + self.after[end - 1, labels[-1]]
        large, small = (part[first, 0] for part in self.totals)
        return float(np.exp(min(0.0, ends + transitions.sum() + tokens.sum() - large - small)))

    def has_alternative(self, part: Run) -> bool:
        """Whether any token of the run can have another label."""
        return bool((np.isfinite(self.through[part.tokens]).sum(axis=1) > 1).any())


def labels_above(lattice: Lattice, min_value: float) -> Iterator[tuple[Run, float]]:
    """The labels of single tokens whose probability or margin is at least `min_value`, with that value."""
    values = lattice.values()
    for token, label in np.argwhere(values >= min_value).tolist():
        yield Run(token, (label,)), float(values[token, label])


@kernel
def _fill_maxima(scores, transitions, start, end, before, after):
    """Fill the lattices of `forward` and `backward`, with maxima instead of sums."""
    length, n_labels = scores.shape
    if length == 0:
        return
    onward, ahead = steps_of(transitions), np.empty(n_labels)
    backward = steps_of(onward.reverse)
    for j in range(n_labels):
        before[0, j] = start[j] + scores[0, j]
        after[length - 1, j] = end[j]
    for t in range(1, length):
        row = before[t]
        best_steps(before[t - 1], onward, row)
        for j in range(n_labels):
            row[j] += scores[t, j]
    for t in range(length - 2, -1, -1):
        for j in range(n_labels):
            ahead[j] = scores[t + 1, j] + after[t + 1, j]
        best_steps(ahead, backward, after[t])


def _legal(lattice: Lattice) -> Lattice:
    if lattice.total <= FORBIDDEN / 2:
        raise ValueError("every label sequence is ruled out")
    return lattice
