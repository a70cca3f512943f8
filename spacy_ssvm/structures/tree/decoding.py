"""Trees of whole batches."""

import numpy as np

from ...features.arc_hashing import read_sentence
from ...kernels import kernel
from .data import Trees
from .oracle import DecodedTrees, decode
from .weights import of_either


@kernel
def _decode_all(data, weights, heads, labels):
    trees = data.trees
    starts = trees.columns.starts
    for sentence in range(len(starts) - 1):
        first, end = starts[sentence], starts[sentence + 1]
        read = read_sentence(trees.columns, trees.program, sentence)
        found, found_labels = np.zeros(end - first + 1, np.int32), np.zeros(end - first + 1, np.int32)
        data.decode(trees, sentence, read, weights, 0.0, found, found_labels)
        for m in range(1, end - first + 1):
            heads[first + m - 1], labels[first + m - 1] = found[m], found_labels[m]


def decode_all(trees: Trees, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best trees, argmax_y wᵀΦ(x_i, y), of all sentences.

    weights: float32 or float64 [d]. Returns heads int32 [T], 0 for the root, and labels int32 [T].
    """
    n_tokens = int(trees.columns.starts[-1])
    heads, labels = np.zeros(n_tokens, np.int32), np.zeros(n_tokens, np.int32)
    _decode_all(DecodedTrees(trees, decode), of_either(weights), heads, labels)
    return heads, labels
