"""The weights of a chain from which training starts, and the rows that a data set takes from them."""

from typing import NamedTuple

import numpy as np

from ...features.index import ABSENT
from .rows import dense, joined_rows, taken
from .weights import ChainWeights


class StartWeights(NamedTuple):
    """The weights from which training starts, as far as a data set needs them.

    Attributes:
        seen: as in `ChainWeights`, of the rows that the data set's table has from the start; None if unknown.
        is_new: bool [L], the labels that corrections are to learn.
        is_unused: bool [L], new labels, and others without any weight.
        weights: given if the table has no rows at the start and gets only its Docs' rows; all other rows keep these
            weights.
    """

    seen: np.ndarray | None
    is_new: np.ndarray
    is_unused: np.ndarray
    weights: ChainWeights | None = None


def no_start_weights(n_labels: int, seen: np.ndarray | None = None) -> StartWeights:
    """Start weights of zero. seen: how often each row occurred, uint8 [R], or None."""
    return StartWeights(seen, np.zeros(n_labels, np.bool_), np.ones(n_labels, np.bool_))


def seen_of(weights: ChainWeights, keys: np.ndarray) -> np.ndarray | None:
    """`ChainWeights.seen` of the rows with these keys, uint64 [n]: 0 for absent ones."""
    if weights.seen is None:
        return None
    places = _places(weights, keys)
    seen = np.zeros(len(keys), np.uint8)
    seen[places != ABSENT] = weights.seen[places[places != ABSENT]]
    return seen


def blocks_of(weights: ChainWeights, keys: np.ndarray) -> np.ndarray:
    """The label weights of the rows with these keys, uint64 [n], one row after the other: float32 [n · L]."""
    places, n_labels = _places(weights, keys), len(weights.transitions)
    blocks = np.zeros((len(keys), n_labels), np.float32)
    present = np.flatnonzero(places != ABSENT)
    blocks[present] = dense(taken(weights.rows, places[present]), n_labels)
    return blocks.ravel()


def with_others(weights: ChainWeights, learnt: ChainWeights, keys: np.ndarray) -> ChainWeights:
    """The learnt weights of rows with these keys, uint64, and the earlier `weights` of all others."""
    is_other, places = np.ones(len(weights.keys), np.bool_), _places(weights, keys)
    is_other[places[places != ABSENT]] = False
    others, n_learnt = np.flatnonzero(is_other), len(learnt.keys)
    chosen = np.concatenate([np.arange(n_learnt), n_learnt + others])
    together = np.concatenate([learnt.keys, weights.keys[others]])
    order = np.argsort(together, kind="stable")
    chosen = chosen[order]
    seen = [np.zeros(len(part.keys), np.uint8) if part.seen is None else part.seen for part in (learnt, weights)]
    rows = taken(joined_rows([learnt.rows, weights.rows]), chosen)
    return learnt._replace(keys=together[order], rows=rows, seen=np.concatenate(seen)[chosen])


def _places(weights: ChainWeights, keys: np.ndarray) -> np.ndarray:
    """The row with each of these keys, uint64 [n], or ABSENT."""
    if not len(weights.keys):
        return np.full(len(keys), ABSENT)
    places = np.searchsorted(weights.keys, keys).clip(max=len(weights.keys) - 1)
    return np.where(weights.keys[places] == keys, places, ABSENT)
