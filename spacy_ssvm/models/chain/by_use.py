"""The weights of a data set of chains, numbered in the order of their use."""

import numpy as np

from ...solvers.problem import Extent, Problem
from ...structures.chain.constraints import Constraints
from .data import Chains
from .decoders import ALL_LABELS, has_many_labels, learning_decoder
from .layouts import by_use
from .numbering import (
    FREQUENT,
    NO_PAIR,
    Numbering,
    StepNumbering,
    new_numbering,
    new_steps,
    numbering_of,
    pairs_of,
    used_steps,
    with_rows,
)
from .oracles import problem_by_use

_IS_PAIR, _IS_STEP = np.uint64(1 << 63), np.uint64(1 << 62)
"""The bits that mark a pair of row and label, and a transition, in an index, in which keys of rows come first."""


class WeightsByUse:
    """A numbering that grows with the rows, and the problems with it.

    numbering: of rows. steps: of transitions, if there are many labels; None if they are numbered as by row.
    """

    def __init__(self, n_labels: int, numbering: Numbering, steps: StepNumbering | None) -> None:
        self._n_labels, self._numbering, self._steps = n_labels, numbering, steps
        self._decoder = ALL_LABELS
        self._longest, self._n_measured = 0, 0
        """The number of tokens that none of so many examples exceeds."""

    @classmethod
    def new(cls, counts: np.ndarray, constraints: Constraints, of_tokens: bool) -> "WeightsByUse":
        """A numbering in which no weight is in use; counts: how often each row occurs, int [R]."""
        n_labels = len(constraints.start)
        numbering = new_numbering(len(counts), n_labels, np.flatnonzero(FREQUENT * counts >= n_labels))
        return cls(n_labels, numbering, _steps(constraints, of_tokens, np.zeros(0, np.int64)))

    @classmethod
    def resumed(
        cls, pairs: np.ndarray, steps: np.ndarray, n_rows: int, constraints: Constraints, of_tokens: bool
    ) -> "WeightsByUse":
        """The numbering with these pairs and transitions, as `split` returns them.

        Raises:
            ValueError: a pair of row and label or a transition does not exist, or the order of pairs is impossible.
        """
        n_labels = len(constraints.start)
        return cls(n_labels, numbering_of(pairs, n_rows, n_labels), _steps(constraints, of_tokens, steps))

    def problem(self, chains: Chains, n_rows: int, extent: Extent) -> Problem:
        """The problem of these chains, with places for so many rows."""
        self._numbering = with_rows(self._numbering, n_rows, self._n_labels)
        if self._steps is not None:
            lengths = np.diff(chains.starts[self._n_measured :])
            self._longest, self._n_measured = max(self._longest, int(lengths.max(initial=0))), len(chains.starts) - 1
            before = None if self._decoder is ALL_LABELS else self._decoder
            self._decoder = learning_decoder(chains.constraints, self._steps, self._longest, before)
        return problem_by_use(chains._replace(layout=by_use(self._numbering), decoder=self._decoder), extent)

    def forget_chains(self) -> None:
        """Forget the chains of the latest problem: others take the place of some."""
        self._n_measured = 0

    def without_chains(self) -> "WeightsByUse":
        """The same numbering, for other chains."""
        return WeightsByUse(self._n_labels, self._numbering, self._steps)

    def non_zeros(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights that are not zero, of a vector as `problem` numbers them: indices int64, ascending, by row."""
        begin = self._n_labels * self._n_labels
        steps = np.arange(begin) if self._steps is None else used_steps(self._steps)
        of_steps = _non_zeros(vector[: len(steps)], steps)
        indices, values = _non_zeros(vector[begin:], pairs_of(self._numbering, self._n_labels))
        return np.concatenate([of_steps[0], begin + indices]), np.concatenate([of_steps[1], values])

    def index(self) -> np.ndarray:
        """The numbering for `split`, uint64."""
        pairs = (pairs_of(self._numbering, self._n_labels) - NO_PAIR).astype(np.uint64)
        steps = np.zeros(0, np.int64) if self._steps is None else used_steps(self._steps)
        return np.concatenate([steps.astype(np.uint64) | _IS_STEP, pairs | _IS_PAIR])


def split(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys of rows, uint64, the pairs and the transitions, int64, of keys followed by `WeightsByUse.index`."""
    is_pair = index & _IS_PAIR != 0
    is_step = ~is_pair & (index & _IS_STEP != 0)
    pairs = (index[is_pair] & ~_IS_PAIR).astype(np.int64) + NO_PAIR
    return index[~(is_pair | is_step)], pairs, (index[is_step] & ~_IS_STEP).astype(np.int64)


def _steps(constraints: Constraints, of_tokens: bool, used: np.ndarray) -> StepNumbering | None:
    """The numbering of these transitions, if they are numbered by use; chains of one token have none."""
    return new_steps(len(constraints.start), used) if not of_tokens and has_many_labels(constraints) else None


def _non_zeros(values: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the values that are not zero, ascending, and these; there may be more values, all zero."""
    used = np.flatnonzero(values[: len(numbers)])
    used = used[np.argsort(numbers[used])]
    return numbers[used], values[used]
