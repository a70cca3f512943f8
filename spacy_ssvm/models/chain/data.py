"""A set of labelled sequences as flat arrays, and the layout of a chain's weight vector."""

from typing import NamedTuple

import numpy as np

from ...kernels import Float32Array, Float64Array, Int32Array, Int64Array
from ...structures.chain.constraints import Attributes, Constraints, max_attributes
from .decoders import ALL_LABELS, Decoder, FixedDecoder
from .numbering import NO_NUMBERING, Numbering
from .rows import FixedRows


class Chains(NamedTuple):
    """n sequences of T tokens in total, with their features and gold labels.

    The weight vector of a chain with L labels and R feature rows has L² + R · L entries: the transition weights
    (from, to), then the weights of feature rows. In the order by row, in which the oracles name weights, each row has a
    block of L weights, so that new rows are appended. Attributes of labels are among the L labels.

    Attributes:
        starts: int64 [n + 1], first token of each sequence.
        feature_starts: int64 [T + 1], first feature of each token.
        rows: int32 [F], the features' rows.
        values: float32 [F], their values; empty if all of them are 1.
        gold: int32 [T], gold labels, complete and within the constraints.
        costs: float64 [T], the loss of a wrong label at each token; 0 where gold is unknown.
        kinds: int32 [T], rows of `constraints.token`.
        numbering: of the weights, where they are numbered by use; else empty.
        decoder: data that decoding reads besides scores.
    """

    starts: Int64Array
    feature_starts: Int64Array
    rows: Int32Array
    values: Float32Array
    gold: Int32Array
    costs: Float64Array
    kinds: Int32Array
    constraints: Constraints
    numbering: Numbering = NO_NUMBERING
    decoder: Decoder = ALL_LABELS


class FixedChains(NamedTuple):
    """Sequences to predict labels for; the fields are as in `Chains`, without gold.

    Kernels get copies of their arguments, so each of the two has only the fields that it needs.

    Attributes:
        weights: of feature rows.
    """

    starts: Int64Array
    feature_starts: Int64Array
    rows: Int32Array
    values: Float32Array
    kinds: Int32Array
    constraints: Constraints
    weights: FixedRows
    decoder: FixedDecoder


def make_chains(
    starts: np.ndarray,
    feature_starts: np.ndarray,
    rows: np.ndarray,
    gold: np.ndarray,
    constraints: Constraints,
    values: np.ndarray | None = None,
    costs: np.ndarray | None = None,
    kinds: np.ndarray | None = None,
) -> Chains:
    """Make `Chains` from arrays, which are converted to their types, with default values.

    Args:
        values, costs: 1 everywhere by default; values that are all 1 are not kept.
        kinds: 0 everywhere by default.

    Raises:
        ValueError: a feature value or a cost is not finite, a cost is negative, or lengths disagree.
    """
    n_tokens = len(gold)
    values = np.zeros(0, np.float32) if values is None else np.ascontiguousarray(values, np.float32)
    costs = np.ones(n_tokens) if costs is None else np.ascontiguousarray(costs, np.float64)
    kinds = np.zeros(n_tokens, np.int32) if kinds is None else np.ascontiguousarray(kinds, np.int32)
    starts = np.ascontiguousarray(starts, np.int64)
    feature_starts = np.ascontiguousarray(feature_starts, np.int64)
    if len(values) not in (0, len(rows)) or not len(costs) == len(kinds) == n_tokens:
        raise ValueError(
            f"{len(values)} values of {len(rows)} features, {len(costs)} costs and {len(kinds)} kinds of {n_tokens} "
            "tokens do not fit together"
        )
    if len(kinds) and not 0 <= kinds.min() <= kinds.max() < len(constraints.token):
        raise ValueError(f"a token is of a kind that the {len(constraints.token)} token constraints do not have")
    if starts[-1] != n_tokens or len(feature_starts) != n_tokens + 1 or feature_starts[-1] != len(rows):
        raise ValueError(
            f"{n_tokens} labels, {starts[-1]} tokens, {len(feature_starts) - 1} feature counts and "
            f"{len(rows)} of {feature_starts[-1]} features do not fit together"
        )
    require_finite(starts, feature_starts, values)
    if (values == 1).all():
        values = values[:0].copy()
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError("label costs must be finite and not negative")
    rows, gold = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(gold, np.int32)
    return Chains(starts, feature_starts, rows, values, gold, costs, kinds, _contiguous(constraints))


def _contiguous(constraints: Constraints) -> Constraints:
    attributes = Attributes(*(np.ascontiguousarray(part, np.int32) for part in constraints.attributes))
    start, end, transition, token = (np.ascontiguousarray(part, np.float64) for part in constraints[:-1])
    return Constraints(start, end, transition, token, attributes)


def require_finite(starts: np.ndarray, feature_starts: np.ndarray, values: np.ndarray) -> None:
    """Check the features' values, float32 [F].

    Raises:
        ValueError: a value is not finite.
    """
    if not np.isfinite(values).all():
        token = int(np.searchsorted(feature_starts, np.flatnonzero(~np.isfinite(values))[0], "right")) - 1
        sequence = int(np.searchsorted(starts, token, "right")) - 1
        raise ValueError(
            f"a feature of token {token - int(starts[sequence])} in sequence {sequence} has a value that is not finite"
        )


def dimension(n_labels: int, n_rows: int) -> int:
    """Length of the weight vector for L labels and R feature rows."""
    return n_labels * n_labels + n_rows * n_labels


def plane_entries(chains: Chains) -> np.ndarray:
    """Upper bounds of the numbers of entries of ΔΦ, int64 [n], before equal indices are merged."""
    features = np.diff(chains.feature_starts[chains.starts])
    weighted = 1 + max_attributes(chains.constraints.attributes)
    bounds: np.ndarray = 2 * (weighted * features + np.diff(chains.starts))
    return bounds
