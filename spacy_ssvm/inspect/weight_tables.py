"""The largest weights of a chain's labels, and the weights of its transitions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import wasabi

from ..models.chain.weights import ChainWeights
from ..structures import FORBIDDEN
from ..structures.chain.constraints import Constraints

NO_NAME = "?"
"""The name of a feature that was learnt before names were collected."""


class TopFeature(NamedTuple):
    """A feature and its weight for a label.

    Attributes:
        label: the label of the chain, such as `B-GPE`.
        feature: its template and the values that it reads; several in one where they share a weight.
        weight: its weight.
    """

    label: str
    feature: str
    weight: float


class Transitions(NamedTuple):
    """The weights of pairs of neighbouring labels.

    Attributes:
        labels: the L labels of the chain.
        weights: float64 [L, L], the weight of each label (row) followed by each label (column); −∞ where constraints
            forbid the pair.
    """

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
    """The n largest non-zero weights, of either sign.

    Args:
        labels: all weight labels.
        chosen: the places of the labels whose weights are listed.
    """
    names, rows = weights.names or (), weights.rows
    column_of = np.full(len(labels), -1)
    column_of[list(chosen)] = np.arange(len(chosen))
    used = np.flatnonzero(column_of[rows.labels] >= 0)
    row, column = np.searchsorted(rows.starts, used, "right") - 1, column_of[rows.labels[used]]
    order = np.lexsort((column, row, -np.abs(rows.values[used])))[:n]
    return [
        TopFeature(labels[chosen[column[place]]], names[row[place]] or NO_NAME, float(rows.values[used[place]]))
        for place in order.tolist()
    ]


def transitions(weights: ChainWeights, labels: Sequence[str], constraints: Constraints) -> Transitions:
    """The weights of the transitions between these weight labels; constraints: the constraints of the chain."""
    constrained = weights.transitions.astype(np.float64) + constraints.transition
    return Transitions(tuple(labels), np.where(constrained <= FORBIDDEN / 2, -np.inf, constrained))
