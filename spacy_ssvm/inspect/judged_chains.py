"""Label sequences with their gold labels, for calibration."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..structures.chain.potentials import Lattice, Potentials, log_partition, sum_lattice
from ..training.calibration import NONE_OF_THESE, UNKNOWN, Judged


class Run(NamedTuple):
    """A tag, an entity or a start: the weight labels, int32, of the tokens from `first` on."""

    first: int
    labels: np.ndarray


class JudgedChain(Judged):
    """gold: int32 [T], the gold labels, UNKNOWN or NONE_OF_THESE. listed: what has MIN_PROBABILITY in a lattice."""

    def __init__(self, potentials: Potentials, gold: np.ndarray, listed: Callable[[Lattice], Iterable[Run]]) -> None:
        self._potentials = potentials
        self._gold = gold
        self._listed = listed
        known = gold != UNKNOWN
        self.is_annotated = bool(known.any())
        self._possible = ~known[:, None] | (gold[:, None] == np.arange(potentials.tokens.shape[1]))

    def log_likelihood(self, beta: float) -> float:
        agreeing = log_partition(self._potentials, beta, self._possible)
        return min(0.0, agreeing - log_partition(self._potentials, beta))

    def items(self, beta: float) -> tuple[list[Run], np.ndarray]:
        lattice = sum_lattice(self._potentials, beta)
        has_alternatives = np.isfinite(lattice.through()).sum(axis=1) > 1
        runs, right = [], []
        for run in self._listed(lattice):
            tokens = slice(run.first, run.first + len(run.labels))
            is_gold = _is_gold(run.labels, self._gold[tokens])
            if is_gold is not None and has_alternatives[tokens].any():
                runs.append(run)
                right.append(is_gold)
        return runs, np.array(right, np.bool_)

    def probabilities(self, items: Sequence[Run], beta: float) -> np.ndarray:
        lattice = sum_lattice(self._potentials, beta)
        logs = np.array([_log_probability(lattice, run) for run in items], np.float64)
        return np.asarray(np.exp(np.minimum(logs, 0.0)))


def judged_chain(
    potentials: Potentials,
    gold: Sequence[str | None],
    weight_labels: Sequence[str],
    listed: Callable[[Lattice], Iterable[Run]],
) -> Judged:
    """gold: names of weight labels, or None where unknown."""
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(weight_labels)}
    numbers[None] = UNKNOWN
    return JudgedChain(potentials, np.array([numbers.get(name, NONE_OF_THESE) for name in gold], np.int32), listed)


def _is_gold(labels: np.ndarray, gold: np.ndarray) -> bool | None:
    """Whether these labels are gold, both int32; None where what is known does not tell."""
    known = gold != UNKNOWN
    if (labels != gold)[known].any():
        return False
    return True if known.all() else None


def _log_probability(lattice: Lattice, run: Run) -> float:
    """Of all sequences that have the run; lattice: of log-sums."""
    first, labels = run
    end = first + len(labels)
    between = lattice.potentials.transitions[labels[:-1], labels[1:]]
    own = lattice.potentials.tokens[np.arange(first + 1, end), labels[1:]]
    ends = lattice.before[first, labels[0]] + lattice.after[end - 1, labels[-1]]
    return float(ends + between.sum() + own.sum() - lattice.total)
