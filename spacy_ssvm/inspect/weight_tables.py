"""The largest weights of a chain's labels, and the weights of its transitions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import wasabi

from ..models.chain.weights import ChainWeights, split
from ..structures.chain.constraints import FORBIDDEN, Constraints

UNNAMED = "?"
"""The name of a feature that was learnt while names were not collected."""


class TopFeature(NamedTuple):
    """A feature and what it adds to the score of a label."""

    label: str
    feature: str
    weight: float


class Transitions(NamedTuple):
    """weights: float64 [L, L], of each label (row) and the label after it (column); −∞ where that is ruled out."""

    labels: tuple[str, ...]
    weights: np.ndarray

    def text(self) -> str:
        """A table with a row for each label and a column for each label after it."""
        rows = [
            (label, *("-" if weight == -np.inf else f"{weight:+.2f}" for weight in row))
            for label, row in zip(self.labels, self.weights.tolist())
        ]
        return str(wasabi.table(rows, header=("", *self.labels), aligns="r", divider=True))


def top_features(weights: ChainWeights, labels: Sequence[str], chosen: Sequence[int], n: int) -> list[TopFeature]:
    """The n largest weights of the chosen ones among these weight labels, of either sign, none 0."""
    names, rows = weights.names or (), split(weights.vector, len(labels))[1][:, chosen]
    order = np.argsort(-np.abs(rows), axis=None, kind="stable")[:n]
    found = []
    for place in order.tolist():
        row, column = divmod(place, len(chosen))
        if rows[row, column]:
            found.append(TopFeature(labels[chosen[column]], names[row] or UNNAMED, float(rows[row, column])))
    return found


def transitions(weights: ChainWeights, labels: Sequence[str], constraints: Constraints) -> Transitions:
    """The transitions between these weight labels; constraints: of the chain."""
    learnt = split(weights.vector, len(labels))[0].astype(np.float64) + constraints.transition
    return Transitions(tuple(labels), np.where(learnt <= FORBIDDEN / 2, -np.inf, learnt))
