"""The scores of one sentence's arcs and labels: its k best labelled trees, probabilities and margins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from ...kernels import FirstClassFunction, kernel
from .. import FORBIDDEN, UNKNOWN
from .kbest import labelled_kbest, sum_out_labels
from .max_marginals import arc_max_marginals, max_marginals
from .parts import PROJECTIVE, ROOT_LABEL, SPANNING, Parts, dense_scores, has_grandparents, has_siblings
from .projective import projective_marginals
from .spanning import tree_marginals

ANY = -3
"""The head or the label of a part that leaves it open."""

NO_LABEL = -4
"""The label of arcs between tokens, where no label has been learnt."""

Kind = Literal["arc", "label", "sibling", "grandparent"]


class LabelledTree(NamedTuple):
    """A labelled tree; heads, labels: int32 [n], of each token; head 0 is the root."""

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

    head or label may be ANY, for all arcs with the given label or head. label may be NO_LABEL.
    """

    modifier: int
    head: int
    label: int


class TreeFactor(NamedTuple):
    """A term of a tree's score: an arc, its label, or its pair with the inner neighbour or with the arc above it.

    Nodes are 0 for the root, 1 … n for tokens, and n + 1 for none. third: the sibling, or the head's head. label: for a
    factor of kind "label"; ANY for others.
    """

    kind: Kind
    head: int
    modifier: int
    third: int
    label: int = ANY

    @property
    def labels(self) -> tuple[int, ...]:
        """Empty: the names of a tree's features suffice to tell them apart."""
        return ()

    @property
    def token(self) -> int:
        """The modifier, from 0 on."""
        return self.modifier - 1


class KnownTree(NamedTuple):
    """A gold tree, parts of which may be unknown.

    Attributes:
        heads: int64 [n], the gold heads: positions from 1, 0 for the root, UNKNOWN or NONE_OF_THESE.
        labels: int64 [n], the gold labels, UNKNOWN or NONE_OF_THESE.
    """

    heads: np.ndarray
    labels: np.ndarray

    @property
    def is_annotated(self) -> bool:
        """Whether any gold head is known."""
        return bool((self.heads != UNKNOWN).any())

    def agrees(self, part: Arc) -> bool | None:
        """Whether the gold tree has the arc, with any label; None where the gold head is unknown."""
        head = int(self.heads[part.modifier - 1])
        return None if head == UNKNOWN else head == part.head


class TreeMargins(NamedTuple):
    """The margins of the best tree: its score minus that of the best tree with another head, or label, at a token.

    Attributes:
        heads, labels: float64 [n]; ∞ where no other tree is possible; all labels ∞ where there is one label only.
    """

    tree: LabelledTree
    heads: np.ndarray
    labels: np.ndarray

    def heads_above(self, min_value: float) -> Iterator[tuple[Arc, float]]:
        """The arcs of the best tree, with any label, whose margins are at least this, and their margins."""
        for m, (head, margin) in enumerate(zip(self.tree.heads.tolist(), self.heads.tolist()), 1):
            if margin >= min_value:
                yield Arc(m, head, ANY), margin

    def labels_above(self, min_value: float) -> Iterator[tuple[Arc, float]]:
        """The labels of the best tree, with any head, whose margins are at least this, and their margins."""
        labels = zip(self.tree.heads.tolist(), self.tree.labels.tolist(), self.labels.tolist())
        for m, (head, label, margin) in enumerate(labels, 1):
            if margin >= min_value:
                yield Arc(m, ANY, label_of(head, label)), margin


class TreeMarginals(NamedTuple):
    """Marginals: arcs, float64 [A], probabilities of the arcs; labels, float64 [n, L + 1], of each label of the arc to
    a token, NO_LABEL last."""

    parts: Parts
    arcs: np.ndarray
    labels: np.ndarray

    def probability(self, part: Arc) -> float:
        """The probability of an arc with any label."""
        return float(self.arcs[self.parts.number[part.head, part.modifier]])

    def has_alternative(self, part: Arc) -> bool:
        """Whether the modifier has another candidate for a head."""
        return int((self.parts.number[:, part.modifier] >= 0).sum()) > 1

    def heads_above(self, min_value: float) -> Iterator[tuple[Arc, float]]:
        """The candidate arcs, with any label, that are at least as probable as this, and their probabilities."""
        arcs = (self.arcs >= min_value).nonzero()[0]
        columns = (self.parts.heads[arcs], self.parts.modifiers[arcs], self.arcs[arcs])
        for head, m, probability in zip(*(column.tolist() for column in columns)):
            yield Arc(m, head, ANY), probability

    def labels_above(self, min_value: float) -> Iterator[tuple[Arc, float]]:
        """The labels that arcs to a token can have, with any head, that are at least as probable as this."""
        tokens, labels = (self.labels >= min_value).nonzero()
        last = self.labels.shape[1] - 1
        for token, label, probability in zip(tokens.tolist(), labels.tolist(), self.labels[tokens, labels].tolist()):
            yield Arc(token + 1, ANY, NO_LABEL if label == last else label), probability


def label_of(head: int, label: int) -> int:
    """The label of an arc as part of a tree; ROOT_LABEL is NO_LABEL where the head is a token."""
    return NO_LABEL if head and label == ROOT_LABEL else label


def heads_above(values: TreeMarginals | TreeMargins, min_value: float) -> Iterator[tuple[Arc, float]]:
    """The heads of tokens whose probability or margin is at least `min_value`, with that value."""
    return values.heads_above(min_value)


def heads_and_labels_above(values: TreeMarginals | TreeMargins, min_value: float) -> Iterator[tuple[Arc, float]]:
    """The heads and the labels of tokens whose probability or margin is at least `min_value`, with that value."""
    yield from values.heads_above(min_value)
    yield from values.labels_above(min_value)


@dataclass(frozen=True, eq=False)
class TreeScores:
    """The scores of all labelled trees of n tokens: a tree's score by `Parts`, plus the label scores of its arcs.

    Implements `structures.scored.Scored`, with `LabelledTree`, `Arc` and `KnownTree`.

    Attributes:
        parts: A candidate arcs.
        label_scores: float64 [A, L], FORBIDDEN where an arc cannot have a label; [0, 1] where there is one label only.
        structure: one of the five in `parts`; `best` and margins need one with exact decoding, sums need one of order
            1.
        multi_root: whether a sentence may have several roots.
        decoder: of the structure.
    """

    parts: Parts
    label_scores: np.ndarray
    structure: int
    multi_root: bool
    decoder: FirstClassFunction

    def best(self, k: int) -> list[LabelledTree]:
        """The k best labelled trees, best first, or all if there are fewer. The structure must have exact decoding.

        First the k best trees, each with its best labels, by partitioning the trees other than the best one, and so on
        (Lawler 1972); the k best labelled trees are found among the labellings of these.

        Raises:
            ValueError: k is less than 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        scores, modifiers, arc_heads = self._with_best_labels(), self.parts.modifiers, self.parts.heads
        n = len(self.parts.number) - 1
        # (−score, number, heads, agreed, banned): the best tree with its own heads at tokens 1 … agreed, and with none
        # of the heads `banned` at the next token.
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
        labelled = []
        for tree, _, *labels in rows.tolist():
            arcs, score = self._arcs(trees[tree]), tree_scores[tree]
            if len(self.label_scores):
                score += float((self.label_scores[arcs, labels] - self.label_scores[arcs].max(axis=1)).sum())
            labelled.append(LabelledTree(score, trees[tree][1:], np.array(labels, np.int32)))
        return labelled

    def log_partition(self, beta: float, possible: np.ndarray | None = None) -> float:
        """log Σ exp(β · score) over all first-order trees, or over those whose labelled arcs are `possible`.

        Args:
            possible: bool [A, L]; [A, 1] where there is one label only. −∞ if there is no such tree.

        Raises:
            ValueError: the structure scores pairs of arcs.
        """
        return self._sums(beta, possible)[0]

    def agreeing(self, known: KnownTree) -> np.ndarray:
        """The labelled arcs that do not contradict the known parts of the gold tree, bool [A, L] or [A, 1]."""
        into = self.parts.modifiers - 1
        heads, labels = known.heads[into], known.labels[into][:, None]
        possible = ((heads == UNKNOWN) | (heads == self.parts.heads))[:, None]
        if not len(self.label_scores):
            return possible
        return possible & ((labels == UNKNOWN) | (labels == np.arange(self.label_scores.shape[1])))

    def marginals(self, beta: float) -> TreeMarginals:
        """The marginals of P(y) ∝ exp(β · score(y)), β positive and finite, over first-order trees.

        Raises:
            ValueError: the structure scores pairs of arcs; every tree is ruled out.
        """
        total, arcs, labels = self._sums(beta, None)
        if total == -np.inf:
            raise ValueError("every tree is ruled out")
        return TreeMarginals(self.parts, arcs, _of_tokens(self.parts, arcs, labels))

    def margins(self) -> TreeMargins:
        """The margins of the best tree; the structure must have exact decoding.

        Raises:
            ValueError: every tree is ruled out.
        """
        scores = self._with_best_labels()
        best, heads = self._decode(scores)
        if best <= FORBIDDEN / 2:
            raise ValueError("every tree is ruled out")
        arcs = self._arcs(heads)
        labels = self._best_labels(arcs, self.label_scores)
        if self.structure == SPANNING:
            others = self._others_by_decoding(scores, arcs, labels)
        else:
            labelled = self.parts._replace(scores=scores)
            settings = self.structure, self.multi_root
            others = _others(labelled, self.parts.scores, self.label_scores, labels, arcs, *settings)
        margins = [best - values for values in others]
        for values in margins:
            values[values > -FORBIDDEN / 2] = np.inf
            # The same sum in another order may exceed the best score by rounding.
            np.maximum(values, 0.0, out=values)
        return TreeMargins(LabelledTree(best, heads[1:], labels), *margins)

    def _others_by_decoding(
        self, scores: np.ndarray, arcs: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scores that `_others` returns, for any structure with exact decoding."""
        of_heads, of_labels = np.full(len(arcs), -np.inf), np.full(len(arcs), -np.inf)
        for place, (arc, label) in enumerate(zip(arcs, labels)):
            without = scores.copy()
            without[arc] = FORBIDDEN
            of_heads[place] = self._decode(without)[0]
            if len(self.label_scores):
                into = np.flatnonzero(self.parts.modifiers == place + 1)
                others = np.delete(self.label_scores[into], label, axis=1).max(axis=1)
                without = scores.copy()
                without[into] = np.maximum(self.parts.scores[into] + others, FORBIDDEN)
                of_labels[place] = self._decode(without)[0]
        return of_heads, of_labels

    def margins_of(self, best: LabelledTree, parts: Sequence[Arc]) -> list[float]:
        """The difference from the best tree to the best one without each of its labelled arcs; ∞ if there is none."""
        all_margins = self.margins()
        margins = np.minimum(all_margins.heads, all_margins.labels).tolist()
        return [margins[part.modifier - 1] for part in parts]

    def best_without(self, best: LabelledTree, part: Arc) -> LabelledTree | None:
        """The best labelled tree in which the modifier of an arc of the best tree has another head or another label.

        None if there is no such tree. The structure must have exact decoding.
        """
        scores, labels = self._with_best_labels(), self.label_scores.copy()
        arc = self.parts.number[part.head, part.modifier]
        scores[arc] = FORBIDDEN
        if len(labels):
            labels[arc, part.label] = FORBIDDEN
            scores[arc] = max(FORBIDDEN, self.parts.scores[arc] + labels[arc].max())
        return self._labelled(scores, labels)

    def best_with(self, part: Arc) -> LabelledTree | None:
        """The best among the labelled trees with an arc; None if no tree has it.

        The structure must have exact decoding.
        """
        scores, labels = self._with_best_labels(), self.label_scores.copy()
        arc = self.parts.number[part.head, part.modifier]
        if arc < 0:
            return None
        others = self.parts.modifiers == part.modifier
        others[arc] = False
        scores[others] = FORBIDDEN
        if len(labels):
            label = ROOT_LABEL if part.label == NO_LABEL else part.label
            labels[arc, np.arange(labels.shape[1]) != label] = FORBIDDEN
            scores[arc] = max(FORBIDDEN, self.parts.scores[arc] + labels[arc].max())
        return self._labelled(scores, labels)

    def _labelled(self, scores: np.ndarray, labels: np.ndarray) -> LabelledTree | None:
        """The best tree with these scores of arcs, float64 [A], and of their labels, as in `label_scores`."""
        score, heads = self._decode(scores)
        if score <= FORBIDDEN / 2:
            return None
        return LabelledTree(score, heads[1:], self._best_labels(self._arcs(heads), labels))

    def factors(self, y: LabelledTree) -> list[TreeFactor]:
        """The arcs of a tree, their labels, and the pairs of arcs that its structure scores, in order."""
        heads, no_node = [-1, *y.heads.tolist()], len(y.heads) + 1
        with_siblings, with_grandparents = has_siblings(self.structure), has_grandparents(self.structure)
        factors = []
        for m in range(1, no_node):
            h = heads[m]
            factors.append(TreeFactor("arc", h, m, no_node))
            # Labels of arcs from the root have no features of their own.
            if h != 0 and self.label_scores.shape[1] > 1:
                factors.append(TreeFactor("label", h, m, no_node, int(y.labels[m - 1])))
            if with_siblings:
                step = 1 if h > m else -1
                inner = next((node for node in range(m + step, h, step) if heads[node] == h), no_node)
                factors.append(TreeFactor("sibling", h, m, inner))
            if h != 0 and with_grandparents:
                factors.append(TreeFactor("grandparent", h, m, heads[h]))
        return sorted(factors)

    def _sums(self, beta: float, possible: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
        """The log-partition, the marginals of the arcs, float64 [A], and of labels given the arc, as in
        `label_scores`."""
        if self.structure not in (PROJECTIVE, SPANNING):
            raise ValueError("only trees of order 1 have exact marginals")
        parts, labels = self.parts._replace(scores=self.parts.scores.copy()), self.label_scores.copy()
        if possible is not None:
            parts.scores[~possible.any(axis=1)] = FORBIDDEN
            labels[~possible[: len(labels)]] = FORBIDDEN
        total, arcs = _sums(parts, labels, beta, self.structure, self.multi_root)
        return total if total > FORBIDDEN / 2 else -np.inf, arcs, labels

    def _with_best_labels(self) -> np.ndarray:
        """The arcs' scores including their best labels', float64 [A]."""
        return self.parts.scores + (self.label_scores.max(axis=1) if len(self.label_scores) else 0.0)

    def _decode(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The score and the heads, int32 [n + 1], of the best tree with these arc scores, float64 [A]."""
        heads = np.zeros(len(self.parts.number), np.int32)
        return float(self.decoder(self.parts._replace(scores=scores), self.multi_root, heads)), heads

    def _arcs(self, heads: np.ndarray) -> np.ndarray:
        """The numbers of a tree's arcs, int32 [n]; heads: int32 [n + 1]."""
        return np.asarray(self.parts.number[heads[1:], np.arange(1, len(heads))])

    def _best_labels(self, arcs: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The best labels of arcs, int32 [n], by scores as in `label_scores`."""
        of_arcs = labels[arcs].argmax(axis=1) if len(labels) else np.zeros(len(arcs), np.int64)
        return of_arcs.astype(np.int32)


@kernel
def _sums(parts, label_scores, beta, structure, multi_root):
    """The log-partition and the marginals of arcs, float64 [A], of a structure of order 1; see `sum_out_labels`."""
    sum_out_labels(parts, label_scores, beta)
    marginals, arcs = np.zeros(parts.number.shape), np.empty(len(parts.heads))
    if structure == PROJECTIVE:
        total = projective_marginals(dense_scores(parts), multi_root, marginals)
    else:
        total = tree_marginals(dense_scores(parts), multi_root, marginals)
    for arc in range(len(arcs)):
        arcs[arc] = marginals[parts.heads[arc], parts.modifiers[arc]]
    return total, arcs


@kernel
def _of_tokens(parts, arcs, labels):
    """The probabilities of labels in `TreeMarginals`; labels: given the arc, as `sum_out_labels` leaves them."""
    n, n_labels = len(parts.number) - 1, labels.shape[1]
    probabilities = np.zeros((n, n_labels + 1))
    for arc in range(len(arcs)):
        row, is_root = probabilities[parts.modifiers[arc] - 1], parts.heads[arc] == 0
        if len(labels) == 0:
            row[ROOT_LABEL if is_root else n_labels] += arcs[arc]
            continue
        if arcs[arc] != 0.0:
            for label in range(n_labels):
                row[label] += arcs[arc] * labels[arc, label]
    return probabilities


@kernel
def _others(parts, alone, label_scores, labels, arcs, structure, multi_root):
    """The scores of the best trees with another head, and with another label, at each token, float64 [n]; −∞ if none.

    The structure must be projective.

    Args:
        parts: arcs are scored with their best labels.
        alone: float64 [A], their scores without labels.
        labels, arcs: of the best tree.
    """
    n, size = len(arcs), len(alone)
    if structure == PROJECTIVE:
        best, with_arc = arc_max_marginals(dense_scores(parts), multi_root), np.empty(size)
        for arc in range(size):
            with_arc[arc] = best[parts.heads[arc], parts.modifiers[arc]]
    else:
        with_arc = max_marginals(parts, multi_root)
    of_heads, of_labels = np.full(n, -np.inf), np.full(n, -np.inf)
    for arc in range(size):
        place = parts.modifiers[arc] - 1
        if arc != arcs[place]:
            of_heads[place] = max(of_heads[place], with_arc[arc])
        other = -np.inf
        for label in range(label_scores.shape[1] if len(label_scores) > 0 else 0):
            if label != labels[place]:
                other = max(other, label_scores[arc, label])
        of_labels[place] = max(of_labels[place], with_arc[arc] - parts.scores[arc] + alone[arc] + other)
    return of_heads, of_labels
