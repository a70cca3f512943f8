"""The trees of a Doc's sentences in spaCy's terms: tokens of the Doc, a root as its own head, labels by name."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..pipeline.gold_trees import UNNAMED
from ..structures.tree.potentials import LabelledTree, Potentials, k_best, marginals, margins

Analysis = tuple[float, list[tuple[int, int, str]]]
"""A score, and head, token and label of each token."""


class Sentence(NamedTuple):
    """first: its first token in the Doc."""

    first: int
    potentials: Potentials


class Terms(NamedTuple):
    """What a sentence's numbers are called; names: of the weight labels."""

    first: int
    names: Sequence[str]

    def head(self, head: int, token: int) -> int:
        """head, token: from 1 within the sentence, 0 for the root."""
        return self.first + (head or token) - 1

    def token(self, token: int) -> int:
        return self.first + token - 1

    def label(self, head: int, label: int) -> str:
        # Where no other label has been learnt, arcs have that of roots.
        return UNNAMED if head and not label else self.names[label]


def best_analyses(sentences: Iterable[Sentence], names: Sequence[str], k: int) -> list[Analysis]:
    """The k best of a whole Doc, best first.

    Raises:
        ValueError: k is less than 1.
    """
    analyses: list[Analysis] = [(0.0, [])]
    for sentence in sentences:
        found = [(tree.score, _arcs(tree, Terms(sentence.first, names))) for tree in k_best(sentence.potentials, k)]
        # i · j pairs are no worse than the i-th with the j-th.
        pairs = [
            (score + more, arcs + others)
            for i, (score, arcs) in enumerate(analyses, 1)
            for more, others in found[: k // i]
        ]
        analyses = sorted(pairs, key=lambda pair: -pair[0])[:k]
    return analyses


def scored_heads_and_labels(
    sentences: Iterable[Sentence], names: Sequence[str], beta: float | None
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, str], float]]:
    """The probabilities of all (token, head) and (token, label), or without β the margins of the best trees' ones."""
    heads: dict[tuple[int, int], float] = {}
    labels: dict[tuple[int, str], float] = {}
    for first, potentials in sentences:
        terms = Terms(first, names)
        if beta is None:
            (_, best_heads, best_labels), of_heads, of_labels = margins(potentials)
            for m, (head, label) in enumerate(zip(best_heads.tolist(), best_labels.tolist()), 1):
                heads[terms.token(m), terms.head(head, m)] = float(of_heads[m - 1])
                labels[terms.token(m), terms.label(head, label)] = float(of_labels[m - 1])
            continue
        of_arcs = marginals(potentials, beta)
        for arc, (head, m) in enumerate(zip(potentials.parts.heads.tolist(), potentials.parts.modifiers.tolist())):
            heads[terms.token(m), terms.head(head, m)] = float(of_arcs.arcs[arc])
            for label in np.flatnonzero(of_arcs.labels[arc]).tolist():
                key = terms.token(m), terms.label(head, label)
                labels[key] = labels.get(key, 0.0) + float(of_arcs.labels[arc, label])
    return heads, labels


def _arcs(tree: LabelledTree, terms: Terms) -> list[tuple[int, int, str]]:
    return [
        (terms.head(head, m), terms.token(m), terms.label(head, label))
        for m, (head, label) in enumerate(zip(tree.heads.tolist(), tree.labels.tolist()), 1)
    ]
