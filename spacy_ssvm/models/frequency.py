"""How often features were seen in training, in a few bits: corrections hardly move frequent features."""

import numpy as np

NEW_LABEL_COST = 0.85
"""The cost of missing a new label. All of its first examples have it, and most texts do not: so in doubt, the old label
is to win."""

AT_ONCE = 1 << 20
"""The number of rows whose logarithms, of eight bytes each, are in memory at a time."""


def exponents(counts: np.ndarray, earlier: np.ndarray | None) -> np.ndarray:
    """log₂(1 + n), rounded, uint8 [R], of the counts n, [R], but at least the earlier ones, uint8 [≤ R]."""
    found = np.zeros(len(counts), np.uint8)
    for first in range(0, len(counts), AT_ONCE):
        part = counts[first : first + AT_ONCE]
        # Logarithms take long, and of a whole table few rows occur in a few examples.
        occurs = np.flatnonzero(part)
        found[first + occurs] = np.rint(np.log2(1.0 + part[occurs]))
    if earlier is not None:
        found[: len(earlier)] = np.maximum(found[: len(earlier)], earlier)
    return found


def rates(exponents: np.ndarray) -> np.ndarray:
    """1 / (1 + n), float32 [R]: by how much corrections move a feature, relative to one that was never seen."""
    return np.exp2(-exponents.astype(np.float32))
