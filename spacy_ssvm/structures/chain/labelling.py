"""Labels and their scores straight from columns: features are looked up and used in one kernel, for any thread."""

import numpy as np

from ...features.hashing import Columns, Program, Table, extract
from ...kernels import kernel
from .data import Chains, Constraints, SharedScores, require_finite
from .viterbi import add_shared, decode_all, emission_scores


@kernel
def _label(columns, program, table, chains, shared, weights, labels):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    decode_all(chains, shared, weights, labels)


@kernel
def _score(columns, program, table, chains, shared, weights, scores):
    extract(columns, program, table, False, 0, chains.feature_starts, chains.rows, chains.values)
    for example in range(len(chains.starts) - 1):
        first, end = chains.starts[example], chains.starts[example + 1]
        emission_scores(chains, example, weights, scores[first:end])
        add_shared(shared, first, end, scores[first:end])


def unlabelled(columns: Columns, program: Program, kinds: np.ndarray, constraints: Constraints) -> Chains:
    """The sequences of these columns, without gold labels, with room for their features.

    program: templates over the columns. kinds: int32 [T], rows of `constraints.token`.
    """
    n_tokens, n_labels = int(columns.starts[-1]), len(constraints.start)
    max_features, longest = n_tokens * len(program.seeds), int(np.diff(columns.starts).max(initial=1))
    return Chains(
        columns.starts,
        np.zeros(n_tokens + 1, np.int64),
        np.empty(max_features, np.int32),
        np.empty(max_features, np.float32),
        np.empty(0, np.int32),
        np.empty(0),
        kinds,
        constraints,
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty(longest, np.int32),
    )


def label(
    columns: Columns, program: Program, table: Table, chains: Chains, shared: SharedScores, weights: np.ndarray
) -> np.ndarray:
    """argmax_y wᵀΦ(x_i, y) of every sequence, int32 [T], with the features that are in the index.

    chains: as `unlabelled` makes them, for this call only. weights: float32 or float64, contiguous. Holds Python's lock
    for next to nothing.

    Raises:
        ValueError: a feature value is not finite.
    """
    labels = np.zeros(len(chains.kinds), np.int32)
    _label(columns, program, table, chains, shared, weights, labels)
    _require_finite_values(program, chains)
    return labels


def token_scores(
    columns: Columns, program: Program, table: Table, chains: Chains, shared: SharedScores, weights: np.ndarray
) -> np.ndarray:
    """wᵀΦ of every token and label, float64 [T, L], constraints of tokens included; as `label` in all else."""
    scores = np.zeros((len(chains.kinds), len(chains.constraints.start)))
    _score(columns, program, table, chains, shared, weights, scores)
    _require_finite_values(program, chains)
    return scores


def _require_finite_values(program: Program, chains: Chains) -> None:
    if program.reals.max(initial=-1) >= 0:
        require_finite(chains.starts, chains.feature_starts, chains.values[: chains.feature_starts[-1]])
