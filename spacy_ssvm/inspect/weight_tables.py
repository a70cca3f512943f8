"""What a chain has learnt of labels, apart from any Doc: their largest weights, and those of transitions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import wasabi

from ..models.chain.weights import ChainWeights, split
from ..structures.chain.constraints import FORBIDDEN, Constraints

UNNAMED = "?"
"""A feature that was learnt when names were not collected."""


class TopFeature(NamedTuple):
    """A feature and what it adds to the score of a label."""

    label: str
    feature: str
    weight: float


class Transitions(NamedTuple):
    """weights: float64 [L, L], from, to: what a label adds to the score of the one behind it; −∞ where it cannot be."""

    labels: tuple[str, ...]
    weights: np.ndarray

    def text(self) -> str:
        """A table: a row for each label, with the label behind it in the columns."""
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
    """Those of these weight labels."""
    learnt = split(weights.vector, len(labels))[0].astype(np.float64) + constraints.transition
    return Transitions(tuple(labels), np.where(learnt <= FORBIDDEN / 2, -np.inf, learnt))
