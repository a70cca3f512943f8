"""The weights of a data set of chains, numbered in the order of their use."""

from dataclasses import dataclass

import numpy as np

from ...solvers.problem import Extent, Problem
from ...structures.chain.constraints import Constraints
from .data import Chains
from .decoders import ALL_LABELS, ALONE, Decoder, has_many_labels, learning_decoder
from .numbering import (
    FREQUENT,
    NO_PAIR,
    Numbering,
    new_numbering,
    new_steps,
    non_zeros_of_rows,
    numbering_of,
    pairs_of,
    used_steps,
    with_rows,
)
from .oracles import problem_by_use

_IS_PAIR, _IS_STEP = np.uint64(1 << 63), np.uint64(1 << 62)
"""The bits that mark a pair of row and label, and a transition, in an index, in which keys of rows come first."""


@dataclass(eq=False)
class WeightsByUse:
    """A numbering that grows with the rows, and the problems with it.

    Attributes:
        numbering: of rows.
        decoder: has the numbering of transitions, if there are many labels.
    """

    n_labels: int
    numbering: Numbering
    decoder: Decoder

    @classmethod
    def new(cls, counts: np.ndarray, constraints: Constraints, of_tokens: bool) -> "WeightsByUse":
        """A numbering in which no weight is in use; counts: how often each row occurs, int [R]."""
        n_labels = len(constraints.start)
        frequent = np.flatnonzero(FREQUENT * counts >= n_labels)
        if len(counts) and not len(frequent):
            # A saved state whose index has no pair would be one of weights by row.
            frequent = np.array([counts.argmax()])
        numbering = new_numbering(len(counts), n_labels, frequent)
        return cls(n_labels, numbering, _decoder(constraints, of_tokens, np.zeros(0, np.int64)))

    @classmethod
    def resumed(
        cls, pairs: np.ndarray, steps: np.ndarray, n_rows: int, constraints: Constraints, of_tokens: bool
    ) -> "WeightsByUse":
        """The numbering with these pairs and transitions, as `split` returns them.

        Raises:
            ValueError: a pair of row and label or a transition does not exist, or the order of pairs is impossible.
        """
        n_labels = len(constraints.start)
        return cls(n_labels, numbering_of(pairs, n_rows, n_labels), _decoder(constraints, of_tokens, steps))

    def problem(self, chains: Chains, n_rows: int, extent: Extent) -> Problem:
        """The problem of these chains, with places for so many rows."""
        self.numbering = with_rows(self.numbering, n_rows, self.n_labels)
        return problem_by_use(chains._replace(numbering=self.numbering, decoder=self.decoder), extent)

    def non_zeros(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights that are not zero, of a vector as `problem` numbers them: indices int64, ascending, by row."""
        begin = self.n_labels * self.n_labels
        used = self.decoder.used
        steps = used_steps(used) if len(used.counts) else np.arange(begin)
        transitions = np.zeros(begin)
        transitions[steps] = vector[: len(steps)]
        pairs, values = non_zeros_of_rows(self.numbering, self.n_labels, vector[begin:])
        of_steps = np.flatnonzero(transitions)
        pairs += begin
        return np.concatenate([of_steps, pairs]), np.concatenate([transitions[of_steps], values])

    def index(self) -> np.ndarray:
        """The numbering for `split`, uint64."""
        pairs = (pairs_of(self.numbering, self.n_labels) - NO_PAIR).astype(np.uint64)
        used = self.decoder.used
        steps = used_steps(used) if len(used.counts) else np.zeros(0, np.int64)
        return np.concatenate([steps.astype(np.uint64) | _IS_STEP, pairs | _IS_PAIR])


def split(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys of rows, uint64, the pairs and the transitions, int64, of keys followed by `WeightsByUse.index`."""
    is_pair = index & _IS_PAIR != 0
    is_step = ~is_pair & (index & _IS_STEP != 0)
    pairs = (index[is_pair] & ~_IS_PAIR).astype(np.int64) + NO_PAIR
    return index[~(is_pair | is_step)], pairs, (index[is_step] & ~_IS_STEP).astype(np.int64)


def _decoder(constraints: Constraints, of_tokens: bool, used: np.ndarray) -> Decoder:
    """The decoder for weights by use; used: transitions, which are numbered by use, too, if there are many labels."""
    if of_tokens:
        return ALONE
    if not has_many_labels(constraints):
        return ALL_LABELS
    return learning_decoder(constraints, new_steps(len(constraints.start), used))
