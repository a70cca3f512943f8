"""Trees of whole batches."""

import numpy as np

from ...features.arc_hashing import read_sentence
from ...kernels import kernel
from .data import Trees
from .oracle import decode


@kernel
def _decode_all(trees, weights, heads, labels):
    starts = trees.columns.starts
    for sentence in range(len(starts) - 1):
        first, behind = starts[sentence], starts[sentence + 1]
        read = read_sentence(trees.columns, trees.program, sentence)
        found, found_labels = np.empty(behind - first + 1, np.int32), np.empty(behind - first + 1, np.int32)
        decode(trees, sentence, read, weights, 0.0, found, found_labels)
        heads[first:behind] = found[1:]
        labels[first:behind] = found_labels[1:]


def decode_all(trees: Trees, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best trees, argmax_y wᵀΦ(x_i, y), of all sentences.

    weights: float32 or float64 [d]. Returns heads int32 [T], 0 for the root, and labels int32 [T].
    """
    n_tokens = int(trees.columns.starts[-1])
    heads, labels = np.zeros(n_tokens, np.int32), np.zeros(n_tokens, np.int32)
    _decode_all(trees, weights, heads, labels)
    return heads, labels
