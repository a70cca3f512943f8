"""The scores of one sentence's arcs and labels, and what they say of all its labelled trees."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from ...kernels import FirstClassFunction
from .. import UNKNOWN
from .kbest import labelled_kbest, sum_out_labels
from .parts import FORBIDDEN, PROJECTIVE, ROOT_LABEL, SPANNING, Parts, dense_scores, has_grandparents, has_siblings
from .projective import projective_marginals
from .spanning import tree_marginals

ANY = -3
"""The head or the label of a part that says nothing of it."""

NO_LABEL = -4
"""The label of arcs between tokens, where no label has been learnt."""

Kind = Literal["arc", "label", "sibling", "grandparent"]


class LabelledTree(NamedTuple):
    """heads, labels: int32 [n], of each token; 0 is the root."""

    score: float
    heads: np.ndarray
    labels: np.ndarray

    def arc(self, modifier: int) -> "Arc":
        """The arc to a modifier, 1 … n."""
        head = int(self.heads[modifier - 1])
        return Arc(modifier, head, label_of(head, int(self.labels[modifier - 1])))

    def arcs(self) -> "list[Arc]":
        """The arcs that the tree consists of, by modifier."""
        return [self.arc(modifier) for modifier in range(1, len(self.heads) + 1)]


class Arc(NamedTuple):
    """A part of a labelled tree: the arc from `head`, 0 for the root, to `modifier`, 1 … n, with its label.

    head, label: or ANY, for all arcs with the other one. label: or NO_LABEL.
    """

    modifier: int
    head: int
    label: int


class TreeFactor(NamedTuple):
    """A term of a tree's score: an arc, its label, or its pair with the inner neighbour or with the arc above it.

    Nodes are 0 for the root, 1 … n for tokens, and n + 1 for nobody. third: the sibling or the head's head. label: that
    of the kind "label"; ANY for the others.
    """

    kind: Kind
    head: int
    modifier: int
    third: int
    label: int = ANY

    @property
    def labels(self) -> tuple[int, ...]:
        """None: the features of two trees are told apart by their names alone."""
        return ()

    @property
    def token(self) -> int:
        """The modifier, from 0 on."""
        return self.modifier - 1


class KnownTree(NamedTuple):
    """heads: int64 [n], the gold heads, as places from 1, 0 for the root, UNKNOWN or NONE_OF_THESE.

    labels: int64 [n], the gold labels, or the same two.
    """

    heads: np.ndarray
    labels: np.ndarray

    @property
    def is_annotated(self) -> bool:
        """Whether any gold head is known."""
        return bool((self.heads != UNKNOWN).any())

    def agrees(self, part: Arc) -> bool | None:
        """Whether the gold tree has the arc, whatever its label; None where the gold head is unknown."""
        head = int(self.heads[part.modifier - 1])
        return None if head == UNKNOWN else head == part.head


class TreeMargins(NamedTuple):
    """By how much the best tree is ahead of the best one without the head, or the label, that it has at a token.

    heads, labels: float64 [n]; ∞ where no other tree is possible, and for all labels where there is one label only.
    """

    tree: LabelledTree
    heads: np.ndarray
    labels: np.ndarray

    def of_heads(self) -> Iterator[tuple[Arc, float]]:
        """The arcs of the best tree, with any label, and their margins."""
        for arc, margin in zip(self.tree.arcs(), self.heads.tolist()):
            yield arc._replace(label=ANY), margin

    def of_labels(self) -> Iterator[tuple[Arc, float]]:
        """The labels of the best tree, with any head, and their margins."""
        for arc, margin in zip(self.tree.arcs(), self.labels.tolist()):
            yield arc._replace(head=ANY), margin


class TreeMarginals(NamedTuple):
    """arcs: float64 [A], the probability of each arc. labels: float64 [A, L], that of it and a label."""

    parts: Parts
    arcs: np.ndarray
    labels: np.ndarray

    def probability(self, part: Arc) -> float:
        """The probability of an arc with any label."""
        return float(self.arcs[self.parts.number[part.head, part.modifier]])

    def has_alternative(self, part: Arc) -> bool:
        """Whether the modifier has another candidate for a head."""
        return int((self.parts.number[:, part.modifier] >= 0).sum()) > 1

    def of_heads(self) -> Iterator[tuple[Arc, float]]:
        """The candidate arcs, with any label, and their probabilities."""
        for head, m, probability in zip(self.parts.heads.tolist(), self.parts.modifiers.tolist(), self.arcs.tolist()):
            yield Arc(m, head, ANY), probability

    def of_labels(self) -> Iterator[tuple[Arc, float]]:
        """The labels that arcs to a token can have, with any head, and their probabilities."""
        found: dict[Arc, float] = {}
        for head, m, labels in zip(self.parts.heads.tolist(), self.parts.modifiers.tolist(), self.labels):
            for label in np.flatnonzero(labels).tolist():
                arc = Arc(m, ANY, label_of(head, label))
                found[arc] = found.get(arc, 0.0) + float(labels[label])
        return iter(found.items())


def label_of(head: int, label: int) -> int:
    """The label of an arc as part of a tree; that of the root is none of other arcs."""
    return NO_LABEL if head and label == ROOT_LABEL else label


def heads_above(values: TreeMarginals | TreeMargins, min_value: float) -> Iterator[tuple[Arc, float]]:
    """The heads of tokens whose probability or margin is `min_value` or more, and that value."""
    return ((arc, value) for arc, value in values.of_heads() if value >= min_value)


def heads_and_labels_above(values: TreeMarginals | TreeMargins, min_value: float) -> Iterator[tuple[Arc, float]]:
    """`heads_above`, and the same for the labels of tokens."""
    yield from heads_above(values, min_value)
    yield from ((arc, value) for arc, value in values.of_labels() if value >= min_value)


@dataclass(frozen=True, eq=False)
class TreeScores:
    """A labelled tree of n tokens scores what `Parts` says, without labels, plus the label scores of its arcs.

    Implements `models.protocol.Scored`, with `LabelledTree`, `Arc` and `KnownTree`.

    parts: of A candidate arcs. label_scores: float64 [A, L], FORBIDDEN where an arc cannot have a label; [0, 1] where
    there is one label only. structure: one of the five in `parts`; `best` and margins need one that is decoded exactly,
    sums one of order 1. multi_root: or one root a sentence. decoder: that of the structure.
    """

    parts: Parts
    label_scores: np.ndarray
    structure: int
    multi_root: bool
    decoder: FirstClassFunction

    def best(self, k: int) -> list[LabelledTree]:
        """The k best labelled trees, best first; fewer where there are no more. The structure is decoded exactly.

        The trees, each with its best labels, by splitting all trees but the best around it, and so on (Lawler 1972);
        among k of them are the k best labelled ones.

        Raises:
            ValueError: k is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        scores, modifiers, arc_heads = self._with_best_labels(), self.parts.modifiers, self.parts.heads
        n = len(self.parts.number) - 1
        # Of the trees that agree with `heads` on tokens 1 … agreed and whose next token has none of the heads `banned`.
        score, heads = self._decode(scores)
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
                score, other = self._decode(np.where(out, FORBIDDEN, scores))
                heappush(waiting, (-score, made, other, m - 1, avoided))
                made += 1
        if not trees:
            return []
        rows = labelled_kbest(self.parts, self.label_scores, np.array(trees), np.array(tree_scores), k)
        found = []
        for tree, _, *labels in rows.tolist():
            arcs, score = self._arcs(trees[tree]), tree_scores[tree]
            if len(self.label_scores):
                score += float((self.label_scores[arcs, labels] - self.label_scores[arcs].max(axis=1)).sum())
            found.append(LabelledTree(score, trees[tree][1:], np.array(labels, np.int32)))
        return found

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ exp(β · score) over all first-order trees, or over those whose labelled arcs are `possible`.

        possible: bool [A, L]; [A, 1] where there is one label only. −∞ where there is no such tree.

        Raises:
            ValueError: the structure scores pairs of arcs.
        """
        return self._sums(beta, possible)[0]

    def agreeing(self, known: KnownTree) -> np.ndarray:
        """The labelled arcs, bool [A, L] or [A, 1], that do not contradict what is known of the gold tree."""
        into = self.parts.modifiers - 1
        heads, labels = known.heads[into], known.labels[into][:, None]
        possible = ((heads == UNKNOWN) | (heads == self.parts.heads))[:, None]
        if not len(self.label_scores):
            return possible
        return possible & ((labels == UNKNOWN) | (labels == np.arange(self.label_scores.shape[1])))

    def marginals(self, beta: float) -> TreeMarginals:
        """Under P(y) ∝ exp(β · score(y)), β positive and finite, over first-order trees.

        Raises:
            ValueError: the structure scores pairs of arcs; every tree is ruled out.
        """
        total, arcs, labels = self._sums(beta, None)
        if total == -np.inf:
            raise ValueError("every tree is ruled out")
        return TreeMarginals(self.parts, arcs, arcs[:, None] * labels if len(labels) else arcs[:, None])

    def margins(self) -> TreeMargins:
        """Those of the best tree, by decoding without each of its arcs and labels. The structure is decoded exactly.

        Raises:
            ValueError: every tree is ruled out.
        """
        scores, with_labels = self._with_best_labels(), len(self.label_scores) > 0
        best, heads = self._decode(scores)
        if best <= FORBIDDEN / 2:
            raise ValueError("every tree is ruled out")
        arcs = self._arcs(heads)
        labels = self.label_scores[arcs].argmax(axis=1) if with_labels else np.zeros(len(arcs), np.int64)
        of_heads, of_labels = np.full(len(arcs), np.inf), np.full(len(arcs), np.inf)
        for place, (arc, label) in enumerate(zip(arcs, labels)):
            without = scores.copy()
            without[arc] = FORBIDDEN
            of_heads[place] = best - self._decode(without)[0]
            if with_labels:
                into = np.flatnonzero(self.parts.modifiers == place + 1)
                others = np.delete(self.label_scores[into], label, axis=1).max(axis=1)
                without = scores.copy()
                without[into] = np.maximum(self.parts.scores[into] + others, FORBIDDEN)
                of_labels[place] = best - self._decode(without)[0]
        for values in (of_heads, of_labels):
            values[values > -FORBIDDEN / 2] = np.inf
            # Another order of the same sum can be above by its rounding.
            np.maximum(values, 0.0, out=values)
        return TreeMargins(LabelledTree(best, heads[1:], labels.astype(np.int32)), of_heads, of_labels)

    def best_without(self, best: LabelledTree, part: Arc) -> LabelledTree | None:
        """The best labelled tree in which the modifier of an arc of the best tree has another head or another label.

        None where there is none. The structure is decoded exactly.
        """
        scores, labels = self._with_best_labels(), self.label_scores.copy()
        arc = self.parts.number[part.head, part.modifier]
        scores[arc] = FORBIDDEN
        if len(labels):
            labels[arc, part.label] = FORBIDDEN
            scores[arc] = max(FORBIDDEN, self.parts.scores[arc] + labels[arc].max())
        score, heads = self._decode(scores)
        if score <= FORBIDDEN / 2:
            return None
        arcs = self._arcs(heads)
        of_arcs = labels[arcs].argmax(axis=1) if len(labels) else np.zeros(len(arcs), np.int64)
        return LabelledTree(score, heads[1:], of_arcs.astype(np.int32))

    def factors(self, y: LabelledTree) -> list[TreeFactor]:
        """The arcs of a tree, their labels, and the pairs of arcs that its structure scores, in order."""
        heads, nobody = [-1, *y.heads.tolist()], len(y.heads) + 1
        with_siblings, with_grandparents = has_siblings(self.structure), has_grandparents(self.structure)
        found = []
        for m in range(1, nobody):
            h = heads[m]
            found.append(TreeFactor("arc", h, m, nobody))
            # Labels of arcs from the root have no features of their own.
            if h != 0 and self.label_scores.shape[1] > 1:
                found.append(TreeFactor("label", h, m, nobody, int(y.labels[m - 1])))
            if with_siblings:
                step = 1 if h > m else -1
                inner = next((node for node in range(m + step, h, step) if heads[node] == h), nobody)
                found.append(TreeFactor("sibling", h, m, inner))
            if h != 0 and with_grandparents:
                found.append(TreeFactor("grandparent", h, m, heads[h]))
        return sorted(found)

    def _sums(self, beta: float, possible: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
        """The log-partition, the marginals of the arcs, float64 [A], and those of labels given the arc, as in
        `label_scores`."""
        if self.structure not in (PROJECTIVE, SPANNING):
            raise ValueError("only trees of order 1 have exact marginals")
        parts, labels = self.parts._replace(scores=self.parts.scores.copy()), self.label_scores.copy()
        ruled_out: np.ndarray = np.zeros(len(parts.scores), np.bool_)
        if possible is not None:
            ruled_out = ~np.any(possible & (labels > FORBIDDEN / 2) if len(labels) else possible, axis=1)
            # An arc needs a label for its sum, even one that is ruled out itself.
            labels[~(possible | ruled_out[:, None])[: len(labels)]] = FORBIDDEN
        sum_out_labels(parts, labels, beta)
        parts.scores[ruled_out] = FORBIDDEN
        found = np.zeros((len(parts.number), len(parts.number)))
        of_trees = projective_marginals if self.structure == PROJECTIVE else tree_marginals
        total = float(of_trees(dense_scores(parts), self.multi_root, found))
        return total if total > FORBIDDEN / 2 else -np.inf, found[parts.heads, parts.modifiers], labels

    def _with_best_labels(self) -> np.ndarray:
        """The arcs' scores, float64 [A], with their best labels."""
        return self.parts.scores + (self.label_scores.max(axis=1) if len(self.label_scores) else 0.0)

    def _decode(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The best tree by these scores of arcs, float64 [A]: its score, and heads int32 [n + 1]."""
        heads = np.zeros(len(self.parts.number), np.int32)
        return float(self.decoder(self.parts._replace(scores=scores), self.multi_root, heads)), heads

    def _arcs(self, heads: np.ndarray) -> np.ndarray:
        """The numbers of a tree's arcs, int32 [n]; heads: int32 [n + 1]."""
        return np.asarray(self.parts.number[heads[1:], np.arange(1, len(heads))])
