"""The hash of features and of words, and the mark of a missing one in a table. This module does not import numba."""

import numpy as np

MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
SHIFT = np.uint64(32)
"""Constants of the hash: state ← (state ⊕ key) · MULTIPLIER, then state ← state ⊕ (state >> SHIFT)."""

ABSENT = -1
"""The row of a key that a table does not have."""


def mixed(values: np.ndarray) -> np.ndarray:
    """A hash of each row of values, uint64 [T, A] → uint64 [T]."""
    state = np.full(len(values), values.shape[1], np.uint64)
    for column in np.ascontiguousarray(values.T, np.uint64):
        state = (state ^ column) * MULTIPLIER
        state ^= state >> SHIFT
    return state
