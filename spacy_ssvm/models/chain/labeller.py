"""Scores and labels of tokens by fixed weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...features.columns import ColumnReader
from ...features.index import Columns, Program, Table, extract_at, table_of
from ...features.templates import SplitProgram
from ...features.word_types import Types
from ...kernels import kernel
from ...structures.chain.constraints import Constraints, only_labels
from .data import FixedChains, require_finite
from .decoders import FIXED_ALONE, NONE_LEFT_OUT, FixedDecoder, fixed_decoder, has_many_labels, with_kinds
from .rows import FixedRows, fixed_rows
from .scores import best_fixed_path, fixed_emission_scores
from .type_sums import NOTHING_SHARED, SharedScores, TypeSums, add_shared
from .weights import ChainWeights

SCORED_TOGETHER = 16
"""The number of tokens scored before they are labelled, where each is a chain of its own."""


@kernel
def _score(columns, program, table, tokens, chains, shared, scores):
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        fixed_emission_scores(chains, example, scores[first:end])
        add_shared(shared, first, end, scores[first:end])


@kernel
def _label(columns, program, table, tokens, chains, shared, labels):
    extract_at(columns, program, table, tokens, chains.feature_starts, chains.rows, chains.values)
    longest = 0
    for example in range(len(chains.starts) - 1):
        longest = max(longest, chains.starts[example + 1] - chains.starts[example])
    # Once: that of a document is much, and would be new memory each time.
    memory = np.empty((longest, len(chains.constraints.start)))
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        scores = memory[: end - first]
        fixed_emission_scores(chains, example, scores)
        add_shared(shared, first, end, scores)
        best_fixed_path(chains, example, scores, labels[first:end])


@dataclass(frozen=True)
class Labeller:
    """Labels and scores tokens by fixed weights.

    Attributes:
        program: templates.
        table: of their features.
        weights: of its rows.
        decoder: by the weights of transitions.
        constraints: the usual ones; others have further kinds of tokens.
        sums: for other templates, which read one word type each; None if there are none.
        only: None or, where each token is a chain of its own, `only_labels` of the constraints: tokens that can have
            one label only are not read.
    """

    program: Program
    table: Table
    weights: FixedRows
    decoder: FixedDecoder
    constraints: Constraints
    sums: TypeSums | None = None
    only: np.ndarray | None = None

    def labelling(
        self, columns: Columns, types: Types | None, kinds: np.ndarray, constraints: Constraints
    ) -> Callable[[], np.ndarray]:
        """A function that returns the best labels of all sequences, int32 [T], in any thread.

        It hardly holds Python's lock, and raises a ValueError if a feature value is not finite.

        Args:
            columns: of the sequences; they are read when the function is called.
            types: of their tokens, for the sums.
            kinds: int32 [T], rows of `constraints.token`.
        """
        shared = self._shared(types)
        if self.only is None:
            chains = self._chains(columns.starts, kinds, constraints)
            return partial(self._labels, columns, np.arange(len(kinds)), chains, shared)
        labels = (self.only if constraints is self.constraints else only_labels(constraints))[kinds]
        tokens = np.flatnonzero(labels < 0)
        starts = np.append(np.arange(0, len(tokens), SCORED_TOGETHER), len(tokens))
        chains = self._chains(starts, kinds[tokens], constraints)

        def all_labels() -> np.ndarray:
            labels[tokens] = self._labels(columns, tokens, chains, shared)
            return labels

        return all_labels

    def scores(self, columns: Columns, types: Types | None, kinds: np.ndarray, constraints: Constraints) -> np.ndarray:
        """wᵀΦ of every token and label, float64 [T, L], constraints of tokens included."""
        tokens, scores = np.arange(len(kinds)), np.zeros((len(kinds), len(constraints.start)))
        chains = self._chains(columns.starts, kinds, constraints)
        chains = chains._replace(decoder=chains.decoder._replace(allowed=NONE_LEFT_OUT))
        _score(columns, self.program, self.table, tokens, chains, self._shared(types), scores)
        self._require_finite_values(chains)
        return scores

    def _labels(self, columns: Columns, tokens: np.ndarray, chains: FixedChains, shared: SharedScores) -> np.ndarray:
        """The best labels of these tokens, int64; the chains are made of them, for this call only."""
        labels = np.zeros(len(tokens), np.int32)
        _label(columns, self.program, self.table, tokens, chains, shared, labels)
        self._require_finite_values(chains)
        return labels

    @cached_property
    def _has_real_values(self) -> bool:
        return bool(self.program.reals.max(initial=-1) >= 0)

    def _shared(self, types: Types | None) -> SharedScores:
        return NOTHING_SHARED if self.sums is None or types is None else self.sums.of(types)

    def _chains(self, starts: np.ndarray, kinds: np.ndarray, constraints: Constraints) -> FixedChains:
        """Chains with room for their features."""
        n_tokens = len(kinds)
        max_features = n_tokens * len(self.program.seeds)
        feature_starts = np.zeros(n_tokens + 1, np.int64)
        features = np.empty(max_features, np.int32), np.empty(max_features, np.float32)
        decoder = with_kinds(self.decoder, constraints)
        return FixedChains(starts, feature_starts, *features, kinds, constraints, self.weights, decoder)

    def _require_finite_values(self, chains: FixedChains) -> None:
        if self._has_real_values:
            require_finite(chains.starts, chains.feature_starts, chains.values[: chains.feature_starts[-1]])


def labeller(
    reader: ColumnReader,
    program: Program,
    split: SplitProgram,
    weights: ChainWeights,
    constraints: Constraints,
    of_tokens: bool = False,
) -> Labeller:
    """The labeller by these weights of a program's features; split: the same program.

    Sums for word types do not pay with many labels, or where few tokens of a type may be read.
    """
    table, rows = table_of(weights.keys, weights.hash_bits), fixed_rows(weights.rows, len(constraints.start))
    if of_tokens:
        return Labeller(program, table, rows, FIXED_ALONE, constraints, only=only_labels(constraints))
    decoder = fixed_decoder(constraints, weights.transitions)
    if has_many_labels(constraints):
        return Labeller(program, table, rows, decoder, constraints)
    sums = TypeSums(reader, split.groups, table, rows, constraints)
    return Labeller(split.rest, table, rows, decoder, constraints, sums)
