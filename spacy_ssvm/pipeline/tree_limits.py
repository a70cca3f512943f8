"""What the trees of Docs are limited to: heads and labels that are there, and labels that patterns leave."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.tokens import Doc

from ..models.tree.data import Shape, Trees
from ..models.tree.decoding import potentials
from ..structures.tree.limits import ContradictionError, Limits, limited_candidates, with_labels
from ..structures.tree.parts import LOOPY, NOT_GIVEN, SPANNING
from ..structures.tree.scored import TreeScores
from .patterns import Patterns, token_name


class TreeLimits(NamedTuple):
    """Those of the tokens of Docs; name: of the component."""

    name: str
    docs: Sequence[Doc]
    limits: Limits

    def candidates(
        self, starts: np.ndarray, candidate_starts: np.ndarray, candidates: np.ndarray, shape: Shape
    ) -> tuple[np.ndarray, np.ndarray]:
        """`limited_candidates` of the sentences of these Docs.

        Raises:
            ValueError: no tree keeps to the limits.
        """
        try:
            return limited_candidates(
                starts, candidate_starts, candidates, self.limits, shape.structure, shape.multi_root
            )
        except ContradictionError as error:
            first = int(starts[error.sentence])
            reason = self._reason(slice(first, int(starts[error.sentence + 1])), error.token, shape)
            raise ValueError(f"[{self.name}] {token_name(self.docs, first + error.token)}: {reason}") from None

    def potentials(self, trees: Trees, weights: np.ndarray) -> list[TreeScores]:
        """Those of sentences with these `candidates`."""
        starts = trees.columns.starts.tolist()
        return [
            with_labels(found, self.limits.labels[first:end])
            for found, first, end in zip(potentials(trees, weights), starts, starts[1:])
        ]

    def decode_all(self, trees: Trees, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best heads and labels of these sentences; see `spacy_ssvm.models.tree.decoding.decode_all`."""
        best = [tree for found in self.potentials(trees, weights) for tree in found.best(1)]
        nothing = np.zeros(0, np.int32)
        return (
            np.concatenate([nothing, *(tree.heads for tree in best)]),
            np.concatenate([nothing, *(tree.labels for tree in best)]),
        )

    def _reason(self, sentence: slice, token: int, shape: Shape) -> str:
        """Why a token's limits cannot be kept, where those of the tokens before it can."""
        heads = self.limits.of(sentence).heads
        if heads[token] == NOT_GIVEN:
            return "patterns leave it only labels that no tree has that keeps to the limits of the tokens before it"
        if heads[token] == 0 and not shape.multi_root and (heads[:token] == 0).any():
            return "its head says that it is a root, and an earlier token of the sentence is one: see multi_root"
        above = token
        for _ in range(len(heads)):
            above = heads[above] - 1
            if above < 0 or above > token:
                break
            if above == token:
                return "the heads that are given go round in a circle"
        kind = "tree" if shape.structure in (SPANNING, LOOPY) else "projective tree"
        return f"no {kind} that keeps to the limits of the tokens before it has its head"


def read_limits(
    name: str, docs: Sequence[Doc], starts: np.ndarray, labels: Sequence[str], patterns: Patterns, keep: bool
) -> TreeLimits | None:
    """The limits of these Docs; None where there are none.

    starts: int64 [n + 1], of their sentences. labels: of the weights. keep: whether heads and labels that tokens have
    are kept; `patterns` then say nothing of these tokens. A label that is none of these limits nothing.

    Raises:
        ValueError: a token's head is in another sentence, or what `Patterns.allowed` raises.
    """
    n_tokens = int(starts[-1])
    heads, allowed = np.full(n_tokens, NOT_GIVEN, np.int32), np.ones((n_tokens, len(labels)), np.bool_)
    if keep:
        sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        offsets, deps = np.concatenate([doc.to_array([HEAD, DEP]).reshape(-1, 2) for doc in docs]).T
        above = np.arange(n_tokens) + offsets.astype(np.int64)
        given = np.flatnonzero(deps != 0)
        for token in given[sentence[above[given]] != sentence[given]][:1].tolist():
            head = token_name(docs, int(above[token])).partition(" of ")[0]
            raise ValueError(f"[{name}] {token_name(docs, token)}: its head, {head}, is in another sentence")
        heads[given] = np.where(above == np.arange(n_tokens), 0, above - starts[sentence] + 1)[given]
        numbers = {docs[0].vocab.strings.add(label): number for number, label in enumerate(labels)}
        for token in given[heads[given] > 0].tolist():
            number = numbers.get(int(deps[token]), 0)
            if number > 0:
                allowed[token] = False
                allowed[token, number] = True
    if patterns:
        tokens, left = patterns.allowed(docs, labels, heads == NOT_GIVEN)
        allowed[tokens] = left
    limits = Limits(heads, allowed)
    return TreeLimits(name, docs, limits) if limits.are_any() else None
