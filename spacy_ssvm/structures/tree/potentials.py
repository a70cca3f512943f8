"""The scores of one sentence's arcs and labels, and what they say of all its labelled trees."""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from ...kernels import FirstClassFunction
from .inside_outside import projective_marginals
from .labelled import labelled_kbest, sum_out_labels
from .matrix_tree import tree_marginals
from .parts import FORBIDDEN, PROJECTIVE, SPANNING, Parts, dense_scores


class Potentials(NamedTuple):
    """A labelled tree of n tokens scores what `Parts` says, without labels, plus the label scores of its arcs.

    parts: of A candidate arcs. label_scores: float64 [A, L], FORBIDDEN where an arc cannot have a label; [0, 1] where
    there is one label only. structure, multi_root: as in `Shape`. decoder: that of the structure.
    """

    parts: Parts
    label_scores: np.ndarray
    structure: int
    multi_root: bool
    decoder: FirstClassFunction


class LabelledTree(NamedTuple):
    """heads, labels: int32 [n], of each token; 0 is the root."""

    score: float
    heads: np.ndarray
    labels: np.ndarray


class Margins(NamedTuple):
    """By how much the best tree is ahead of the best one without the head, or the label, that it has at a token.

    heads, labels: float64 [n]; ∞ where no other tree is possible.
    """

    tree: LabelledTree
    heads: np.ndarray
    labels: np.ndarray


class Marginals(NamedTuple):
    """arcs: float64 [A], the probability of each arc. labels: float64 [A, L], that of it and a label."""

    arcs: np.ndarray
    labels: np.ndarray


def k_best(given: Potentials, k: int) -> list[LabelledTree]:
    """The k best labelled trees, best first; fewer where there are no more. The structure is decoded exactly.

    The trees, each with its best labels, by splitting all trees but the best around it, and so on (Lawler 1972); among
    k of them are the k best labelled ones.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    scores, modifiers, arc_heads = _with_best_labels(given), given.parts.modifiers, given.parts.heads
    n = len(given.parts.number) - 1
    # Of the trees that agree with `heads` on tokens 1 … agreed and whose next token has none of the heads `banned`.
    score, heads = _decode(given, scores)
    waiting = [(-score, 0, heads, 0, frozenset[int]())]
    trees: list[np.ndarray] = []
    tree_scores: list[float] = []
    made = 1
    while waiting and len(trees) < k:
        negative, _, heads, agreed, banned = heappop(waiting)
        if -negative <= FORBIDDEN / 2:
            break
        trees.append(heads)
        tree_scores.append(-negative)
        for m in range(agreed + 1, n + 1) if len(trees) < k else ():
            avoided = frozenset({int(heads[m])}) | (banned if m == agreed + 1 else frozenset())
            out = (modifiers < m) & (arc_heads != heads[modifiers])
            out |= (modifiers == m) & np.isin(arc_heads, list(avoided))
            score, other = _decode(given, np.where(out, FORBIDDEN, scores))
            heappush(waiting, (-score, made, other, m - 1, avoided))
            made += 1
    if not trees:
        return []
    rows = labelled_kbest(given.parts, given.label_scores, np.array(trees), np.array(tree_scores), k)
    found = []
    for tree, _, *labels in rows.tolist():
        arcs, score = _arcs(given, trees[tree]), tree_scores[tree]
        if len(given.label_scores):
            score += float((given.label_scores[arcs, labels] - given.label_scores[arcs].max(axis=1)).sum())
        found.append(LabelledTree(score, trees[tree][1:], np.array(labels, np.int32)))
    return found


def margins(given: Potentials) -> Margins:
    """Those of the best tree, by decoding without each of its arcs and labels. The structure is decoded exactly.

    Raises:
        ValueError: every tree is ruled out.
    """
    scores, with_labels = _with_best_labels(given), len(given.label_scores) > 0
    best, heads = _decode(given, scores)
    if best <= FORBIDDEN / 2:
        raise ValueError("every tree is ruled out")
    arcs = _arcs(given, heads)
    labels = given.label_scores[arcs].argmax(axis=1) if with_labels else np.zeros(len(arcs), np.int64)
    of_heads, of_labels = np.full(len(arcs), np.inf), np.full(len(arcs), np.inf)
    for place, (arc, label) in enumerate(zip(arcs, labels)):
        without = scores.copy()
        without[arc] = FORBIDDEN
        of_heads[place] = best - _decode(given, without)[0]
        if with_labels:
            into = np.flatnonzero(given.parts.modifiers == place + 1)
            others = np.delete(given.label_scores[into], label, axis=1).max(axis=1)
            without = scores.copy()
            without[into] = np.maximum(given.parts.scores[into] + others, FORBIDDEN)
            of_labels[place] = best - _decode(given, without)[0]
    for values in (of_heads, of_labels):
        values[values > -FORBIDDEN / 2] = np.inf
        # Another order of the same sum can be above by its rounding.
        np.maximum(values, 0.0, out=values)
    return Margins(LabelledTree(best, heads[1:], labels.astype(np.int32)), of_heads, of_labels)


def best_without(given: Potentials, tree: LabelledTree, token: int) -> LabelledTree | None:
    """The best labelled tree in which a token, from 0 on, has another head than in `tree`, or another label.

    None where there is none. The structure is decoded exactly.
    """
    scores, labels = _with_best_labels(given), given.label_scores.copy()
    arc = given.parts.number[tree.heads[token], token + 1]
    scores[arc] = FORBIDDEN
    if len(labels):
        labels[arc, tree.labels[token]] = FORBIDDEN
        scores[arc] = max(FORBIDDEN, given.parts.scores[arc] + labels[arc].max())
    score, heads = _decode(given, scores)
    if score <= FORBIDDEN / 2:
        return None
    arcs = _arcs(given, heads)
    best = labels[arcs].argmax(axis=1) if len(labels) else np.zeros(len(arcs), np.int64)
    return LabelledTree(score, heads[1:], best.astype(np.int32))


def marginals(given: Potentials, beta: float) -> Marginals:
    """Under P(y) ∝ exp(β · score(y)), β positive and finite, over first-order trees.

    Raises:
        ValueError: the structure scores pairs of arcs; every tree is ruled out.
    """
    total, arcs, labels = _sums(given, beta, None)
    if total == -np.inf:
        raise ValueError("every tree is ruled out")
    return Marginals(arcs, arcs[:, None] * labels if len(labels) else arcs[:, None])


def log_partition(given: Potentials, beta: float, possible: np.ndarray | None = None) -> float:
    """log Σ exp(β · score) over all first-order trees, or over those whose labelled arcs are `possible`.

    possible: bool [A, L]; [A, 1] where there is one label only. −∞ where there is no such tree.

    Raises:
        ValueError: the structure scores pairs of arcs.
    """
    return _sums(given, beta, possible)[0]


def _sums(given: Potentials, beta: float, possible: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """The log-partition, the arcs' marginals float64 [A], and the labels' ones given the arc, as in `label_scores`."""
    if given.structure not in (PROJECTIVE, SPANNING):
        raise ValueError("only trees of order 1 have exact marginals")
    parts, labels = given.parts._replace(scores=given.parts.scores.copy()), given.label_scores.copy()
    ruled_out: np.ndarray = np.zeros(len(parts.scores), np.bool_)
    if possible is not None:
        ruled_out = ~np.any(possible & (labels > FORBIDDEN / 2) if len(labels) else possible, axis=1)
        # An arc needs a label for its sum, even one that is ruled out itself.
        labels[~(possible | ruled_out[:, None])[: len(labels)]] = FORBIDDEN
    sum_out_labels(parts, labels, beta)
    parts.scores[ruled_out] = FORBIDDEN
    found = np.zeros((len(parts.number), len(parts.number)))
    of_trees = projective_marginals if given.structure == PROJECTIVE else tree_marginals
    total = float(of_trees(dense_scores(parts), given.multi_root, found))
    return total if total > FORBIDDEN / 2 else -np.inf, found[parts.heads, parts.modifiers], labels


def _with_best_labels(given: Potentials) -> np.ndarray:
    """The arcs' scores, float64 [A], with their best labels."""
    return given.parts.scores + (given.label_scores.max(axis=1) if len(given.label_scores) else 0.0)


def _decode(given: Potentials, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """The best tree by these scores of arcs, float64 [A]: its score, and heads int32 [n + 1]."""
    heads = np.zeros(len(given.parts.number), np.int32)
    return float(given.decoder(given.parts._replace(scores=scores), given.multi_root, heads)), heads


def _arcs(given: Potentials, heads: np.ndarray) -> np.ndarray:
    """The numbers of a tree's arcs, int32 [n]; heads: int32 [n + 1]."""
    return np.asarray(given.parts.number[heads[1:], np.arange(1, len(heads))])
