"""Completion of partial gold annotation, and projection of impossible gold annotation onto the structure's trees."""

import numpy as np

from ...features.arc_program import read_sentence
from ...kernels import kernel
from ...structures import FORBIDDEN
from ...structures.tree.decoders import decoder
from ...structures.tree.parts import PROJECTIVE, ROOT_LABEL, SPANNING, SPANNING_GRANDPARENTS, UNKNOWN
from .data import Trees, double_precision
from .oracles import DecodedTrees, decode
from .scores import candidate_arcs


@kernel
def _complete(data, examples, weights, changed):
    trees = data.trees
    for k in range(len(examples)):
        example = examples[k]
        first, n = trees.columns.starts[example], trees.columns.starts[example + 1] - trees.columns.starts[example]
        read = read_sentence(trees.columns, trees.program, example)
        heads, labels = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
        # Only annotated heads and labels have a cost, so that this scale rules out every tree that contradicts them.
        data.decode(trees, example, read, weights, FORBIDDEN, heads, labels)
        for m in range(1, n + 1):
            token = first + m - 1
            if trees.gold[token] != heads[m] or trees.gold_labels[token] != labels[m]:
                changed[k] = True
                trees.gold[token], trees.gold_labels[token] = heads[m], labels[m]


def complete(trees: Trees, examples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Complete the gold trees of the given examples, int64, by constrained decoding with w, float64 [d].

    Annotated heads and labels do not change. Returns the examples whose gold tree has changed, int64: planes of their
    old tree are void.
    """
    changed = np.zeros(len(examples), np.bool_)
    _complete(DecodedTrees(trees, decode), examples, double_precision(weights), changed)
    return np.asarray(examples[changed])


@kernel
def _project(trees, heads, labels, changed):
    starts = trees.columns.starts
    for example in range(len(starts) - 1):
        first, n = starts[example], starts[example + 1] - starts[example]
        parts = candidate_arcs(trees, example)
        for arc in range(len(parts.heads)):
            h, token = parts.heads[arc], first + parts.modifiers[arc] - 1
            if heads[token] == UNKNOWN and h == 0 and labels[token] > ROOT_LABEL:
                # All labels together weigh less than one head.
                parts.scores[arc] = -1.0 / (n + 1)
            elif heads[token] != UNKNOWN and heads[token] != h:
                parts.scores[arc] = -1.0
        nearest = np.zeros(n + 1, np.int32)
        trees.decoder(parts, trees.shape.multi_root, nearest)
        for m in range(1, n + 1):
            token = first + m - 1
            trees.gold[token] = nearest[m]
            if heads[token] != UNKNOWN and heads[token] != nearest[m]:
                changed[example] = True
                heads[token] = nearest[m]
            if heads[token] == 0:
                labels[token] = ROOT_LABEL
            elif labels[token] == ROOT_LABEL or nearest[m] == 0:
                labels[token] = UNKNOWN
            trees.gold_labels[token] = labels[token]
            if labels[token] == UNKNOWN:
                trees.gold_labels[token] = (
                    ROOT_LABEL if nearest[m] == 0 or trees.shape.n_labels == 1 else ROOT_LABEL + 1
                )


def project(trees: Trees, heads: np.ndarray, labels: np.ndarray) -> int:
    """Replace annotation that no tree of the structure agrees with by the nearest annotation that a tree agrees with.

    The nearest one changes the fewest heads, and then loses the fewest labels of tokens without an annotated head.

    Args:
        trees: the candidates, which must include annotated heads; its gold trees are set to possible ones.
        heads, labels: int32 [T], UNKNOWN where unknown, without cycles. They are changed in place; labels also where
            they contradict their head: arcs from the root, and no others, have ROOT_LABEL.

    Returns:
        The number of examples in which a head has changed.
    """
    changed = np.zeros(len(trees.columns.starts) - 1, np.bool_)
    # Pairs of arcs have no scores here, so that a first-order decoder suffices.
    single = SPANNING if trees.shape.structure in (SPANNING, SPANNING_GRANDPARENTS) else PROJECTIVE
    trees = trees._replace(decoder=decoder(single))
    _project(trees, heads, labels, changed)
    return int(changed.sum())
