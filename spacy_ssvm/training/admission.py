"""Corrections of the first pass: no tree has a head that it drops, whatever the weights of the trees are."""

from dataclasses import replace

import numpy as np

from ..features.columns import Columns
from ..models.protocol import DataSet, Pruned
from ..models.tree.candidates import ArcFirstPass, ranking, ranking_losses
from ..structures.tree.parts import UNKNOWN

MAX_STEPS = 10


def keep_gold(data: DataSet, docs: np.ndarray) -> None:
    """Change the first pass, if there is one, so that it keeps the gold structures of these Docs, int64."""
    if isinstance(data, Pruned):
        data.first_pass = admitting(data.first_pass, *data.gold_heads(docs))


def admitting(first_pass: ArcFirstPass, columns: Columns, heads: np.ndarray) -> ArcFirstPass:
    """The first pass after small steps, `MAX_STEPS` at most, that end as soon as it keeps all of these heads.

    A step w ← w − (ℓ/2) ∇ℓ / ‖∇ℓ‖² halves ℓ, the sum of −log P(h) over the heads that are not kept, to first order.

    Args:
        columns: of T tokens.
        heads: int32 [T], UNKNOWN for tokens that may have any head.
    """
    if not len(first_pass.weights):
        return first_pass
    for _ in range(MAX_STEPS):
        missing = (heads != UNKNOWN) & ~first_pass.keeps(columns, heads)[0]
        if not missing.any():
            break
        dropped = np.where(missing, heads, UNKNOWN)
        data = ranking(first_pass.program, first_pass.bits, columns, dropped)
        loss, descent = ranking_losses(data, first_pass.weights.astype(np.float64))
        step = loss / 2 / (descent @ descent)
        first_pass = replace(first_pass, weights=(first_pass.weights + step * descent).astype(np.float32))
    return first_pass
