"""The k-best oracle of a chain: planes of the k best sequences of an example, loss-augmented."""

import numpy as np

from ...kernels import kernel
from .kbest import decode_k_best
from .oracle import feature_difference


@kernel
def kbest_oracle(chains, example, weights, loss_scale, k, starts, losses, indices, values):
    """The planes of the k sequences of largest wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), best first.

    Plane j, in pairs that may repeat, goes to starts[j] … starts[j + 1] − 1 of indices and values, its unscaled loss
    to losses[j]. Returns how many sequences there are, at most k.
    """
    length, n_labels = chains.starts[example + 1] - chains.starts[example], chains.scores.shape[1]
    best, before = np.empty((length, n_labels, k)), np.empty((length, n_labels, k), np.int64)
    paths, scores = np.empty((k, length), np.int32), np.empty(k)
    found = decode_k_best(chains, example, weights, loss_scale, best, before, paths, scores)
    starts[0] = 0
    for j in range(found):
        begin = starts[j]
        entries, losses[j] = feature_difference(chains, example, paths[j], indices[begin:], values[begin:])
        starts[j + 1] = begin + entries
    return found
