"""A weight vector in the precision of learning or in that of prediction, as one type."""

from typing import NamedTuple

import numpy as np
from numba.core import types

from ...kernels import kernel


class Weights(NamedTuple):
    """w, in one of two precisions; the array of the other one is empty.

    As one type they let a kernel be compiled once for learning and prediction; only what adds weights up has to ask.

    double: float64 [d], to learn. single: float32 [d], to predict.
    """

    double: np.ndarray
    single: np.ndarray


WEIGHTS = types.NamedTuple([types.Array(types.float64, 1, "C"), types.Array(types.float32, 1, "C")], Weights)
"""The numba type of `Weights`."""


@kernel
def learnt(weights):
    """`Weights` of a vector float64 [d]."""
    return Weights(weights, np.empty(0, np.float32))


def of_either(weights: np.ndarray) -> Weights:
    """`Weights` of a vector float32 or float64 [d]."""
    nothing = weights[:0]
    if weights.dtype == np.float32:
        return Weights(nothing.astype(np.float64), weights)
    return Weights(weights, nothing.astype(np.float32))
