"""The scores of one sequence's tokens and transitions, and what they say of all its label sequences."""

from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .constraints import FORBIDDEN
from .forward_backward import backward, forward, steps_backward, steps_forward
from .kbest import k_viterbi


class Potentials(NamedTuple):
    """A sequence y of T labels scores Σ tokens[t, y_t] + Σ transitions[y_(t−1), y_t] + start[y_1] + end[y_T].

    tokens: float64 [T, L]. transitions: float64 [L, L]. start, end: float64 [L]. What is at most FORBIDDEN / 2 is ruled
    out, in each of them.
    """

    tokens: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Lattice(NamedTuple):
    """What the beginnings and the ends of sequences come to, as a sum over them or as their maximum.

    before: float64 [T, L], of all that reach a label, its own score included. after: float64 [T, L], of all that go on
    from it, its own score left out. total: of all sequences. All in the unit of `potentials`.
    """

    potentials: Potentials
    before: np.ndarray
    after: np.ndarray
    total: float

    @property
    def rounding(self) -> float:
        """What nothing may come to, as sums on the way to `total` can be larger than it."""
        sums = np.abs(self.before[self.before > FORBIDDEN / 2]).max(initial=0.0)
        return 1e-12 * max(1.0, abs(self.total), float(sums))

    def through(self) -> np.ndarray:
        """Of all sequences that have a label at a token, float64 [T, L], less `total`; −∞ where there is none.

        At most 0, and 0 where rounding hides a difference: of several ways to add up the best score, one can be above.
        """
        through = self.before + self.after
        less = np.where(through > FORBIDDEN / 2, through - self.total, -np.inf)
        return np.where(less > -self.rounding, 0.0, less)


def k_best(potentials: Potentials, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best sequences, best first: labels int32 [m, T] and scores float64 [m], m < k where fewer are allowed.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    length, n_labels = potentials.tokens.shape
    lattice = length, n_labels, k
    paths, scores = np.zeros((k, length), np.int32), np.zeros(k)
    found = k_viterbi(*potentials, np.zeros(lattice), np.zeros(lattice, np.int64), paths, scores)
    return paths[:found], scores[:found]


def sum_lattice(potentials: Potentials, beta: float) -> Lattice:
    """Log-sums of exp(β · score): `through` is the log of each label's marginal. β: positive and finite.

    Raises:
        ValueError: every sequence is ruled out.
    """
    scaled = _scaled(potentials, beta)
    before, after = np.zeros_like(scaled.tokens), np.zeros_like(scaled.tokens)
    steps = steps_forward(scaled.transitions)
    total = forward(scaled.tokens, steps, scaled.start, scaled.end, before)
    backward(scaled.tokens, steps_backward(steps), scaled.end, after)
    return _legal(Lattice(scaled, before, after, total))


def log_partition(potentials: Potentials, beta: float, possible: np.ndarray | None = None) -> float:
    """log Σ exp(β · score) over all sequences, or over those whose labels are `possible`; −∞ where there is none.

    possible: bool [T, L].
    """
    if possible is not None:
        potentials = potentials._replace(tokens=np.where(possible, potentials.tokens, FORBIDDEN))
    scaled = _scaled(potentials, beta)
    steps, lattice = steps_forward(scaled.transitions), np.zeros_like(scaled.tokens)
    total = float(forward(scaled.tokens, steps, scaled.start, scaled.end, lattice))
    return total if total > FORBIDDEN / 2 else -np.inf


def max_lattice(potentials: Potentials) -> Lattice:
    """Maxima of scores: `through` is what each label costs the best sequence that has it; 0 for the best of all.

    Raises:
        ValueError: every sequence is ruled out.
    """
    before, after = np.zeros_like(potentials.tokens), np.zeros_like(potentials.tokens)
    _maxima(*potentials, before, after)
    total = float(np.max(before[-1] + potentials.end)) if len(before) else 0.0
    return _legal(Lattice(potentials, before, after, total))


def margins(lattice: Lattice) -> np.ndarray:
    """By how much the best sequence with a label at a token is ahead of the best one without it, float64 [T, L].

    Positive for the labels of the best sequence alone; −∞ where none is possible, ∞ where no other is.
    lattice: of maxima.
    """
    through = lattice.through()
    return through - best_of_others(through)


def best_of_others(through: np.ndarray) -> np.ndarray:
    """The largest value of a row that is not at the place itself, float64 [T, L]; −∞ where the row has no other."""
    n_tokens, n_labels = through.shape
    if n_labels < 2:
        return np.full_like(through, -np.inf)
    ranked, tokens = np.argsort(through, axis=1), np.arange(n_tokens)
    best, second = ranked[:, -1], ranked[:, -2]
    others = np.repeat(through[tokens, best][:, None], n_labels, axis=1)
    others[tokens, best] = through[tokens, second]
    return others


def best_through(lattice: Lattice, token: int, label: int, best: np.ndarray) -> np.ndarray:
    """The best of the sequences with a label at a token, int32 [T].

    lattice: of maxima. best: int32 [T], the best of all sequences, which it joins again on both sides.
    """
    tokens, transitions = lattice.potentials.tokens, lattice.potentials.transitions
    path = best.copy()
    path[token] = label
    for t in range(token - 1, -1, -1):
        path[t] = np.argmax(lattice.before[t] + transitions[:, path[t + 1]])
        if path[t] == best[t]:
            break
    for t in range(token + 1, len(best)):
        path[t] = np.argmax(transitions[path[t - 1]] + tokens[t] + lattice.after[t])
        if path[t] == best[t]:
            break
    return path


@kernel
def _maxima(scores, transitions, start, end, before, after):
    """`forward` and `backward` with maxima in place of sums."""
    length, n_labels = scores.shape
    for t in range(length):
        for j in range(n_labels):
            best = start[j] if t == 0 else -np.inf
            if t > 0:
                for i in range(n_labels):
                    best = max(best, before[t - 1, i] + transitions[i, j])
            before[t, j] = best + scores[t, j]
    for back in range(length):
        t = length - 1 - back
        for i in range(n_labels):
            best = end[i] if back == 0 else -np.inf
            if back > 0:
                for j in range(n_labels):
                    best = max(best, transitions[i, j] + scores[t + 1, j] + after[t + 1, j])
            after[t, i] = best


def _scaled(potentials: Potentials, beta: float) -> Potentials:
    """β times the scores; what is ruled out stays so."""
    return Potentials(*(np.where(part > FORBIDDEN / 2, beta * part, FORBIDDEN) for part in potentials))


def _legal(lattice: Lattice) -> Lattice:
    if lattice.total <= FORBIDDEN / 2:
        raise ValueError("every label sequence is ruled out")
    return lattice
