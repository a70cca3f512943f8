"""Trees of whole batches, and the scores of their parts."""

import numpy as np

from ...features.arc_hashing import read_sentence
from ...kernels import kernel
from ...structures.tree.parts import has_grandparents, has_siblings
from ...structures.tree.scored import TreeScores
from .data import Trees, either_precision
from .oracles import DecodedTrees, decode
from .scores import add_grandparents, add_siblings, score_labelled_arcs


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
    _decode_all(DecodedTrees(trees, decode), either_precision(weights), heads, labels)
    return heads, labels


@kernel
def _score(trees, sentence, weights):
    read = read_sentence(trees.columns, trees.program, sentence)
    parts, label_scores = score_labelled_arcs(trees, sentence, read, weights, 0.0)
    if has_siblings(trees.shape.structure):
        parts = add_siblings(trees, read, parts, weights)
    if has_grandparents(trees.shape.structure):
        parts = add_grandparents(trees, sentence, read, parts, weights)
    return parts, label_scores


def tree_scores(trees: Trees, weights: np.ndarray) -> list[TreeScores]:
    """Those of every sentence under w, float32 or float64 [d]."""
    shape, either = trees.shape, either_precision(weights)
    found = []
    for sentence in range(len(trees.columns.starts) - 1):
        parts, label_scores = _score(trees, sentence, either)
        found.append(TreeScores(parts, label_scores, shape.structure, shape.multi_root, trees.decoder))
    return found
