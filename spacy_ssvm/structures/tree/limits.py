"""Trees that are limited: tokens with heads that are given, and with labels that some set allows."""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .parts import FORBIDDEN, LOOPY, ROOT_LABEL, SPANNING, UNKNOWN
from .projective import eisner
from .scored import TreeScores
from .spanning import maximum_spanning_tree


class Limits(NamedTuple):
    """What the trees over T tokens must have.

    heads: int32 [T], a token's head as its place in the sentence from 1, 0 for the root, or UNKNOWN.
    labels: bool [T, L], the labels that its arc may have; arcs without any are ruled out.
    """

    heads: np.ndarray
    labels: np.ndarray

    def of(self, tokens: slice) -> "Limits":
        return Limits(self.heads[tokens], self.labels[tokens])

    def are_any(self) -> bool:
        return bool((self.heads != UNKNOWN).any() or not self.labels.all())


class ContradictionError(ValueError):
    """No tree keeps to the limits; the first ones that cannot be kept with those before are at this token."""

    def __init__(self, sentence: int, token: int) -> None:
        super().__init__(f"no tree of sentence {sentence} keeps to the limits of tokens 0 to {token}")
        self.sentence, self.token = sentence, token


def limited_candidates(
    starts: np.ndarray,
    candidate_starts: np.ndarray,
    candidates: np.ndarray,
    limits: Limits,
    structure: int,
    multi_root: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Of these candidates those within the limits, and where they hold no tree, the arcs of one that needs few others.

    starts: int64 [n + 1], of sentences. Candidates as in `Trees`, in and out.

    Raises:
        ContradictionError: no tree at all keeps to the limits.
    """
    counts, found = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for sentence, (first, end) in enumerate(pairwise(starts.tolist())):
        given = limits.of(slice(first, end))
        kept = candidates[candidate_starts[first] : candidate_starts[end]]
        sizes = np.diff(candidate_starts[first : end + 1])
        if given.are_any():
            arcs = np.zeros((end - first + 1,) * 2, np.bool_)
            arcs[kept, np.repeat(np.arange(1, end - first + 1), sizes)] = True
            arcs &= _possible(given)
            heads = _nearest_tree(arcs, given, structure, multi_root)
            if heads is None:
                raise ContradictionError(sentence, _first_contradiction(given, structure, multi_root))
            arcs[heads[1:], np.arange(1, len(heads))] = True
            modifiers, kept = np.nonzero(arcs.T)
            sizes = np.bincount(modifiers, minlength=len(heads))[1:]
        counts.append(sizes)
        found.append(kept.astype(np.int32))
    return np.cumsum(np.concatenate(counts)), np.concatenate(found)


def with_labels(given: TreeScores, allowed: np.ndarray) -> TreeScores:
    """The same without the labels that `allowed`, bool [n, L], does not have for an arc's modifier."""
    if not len(given.label_scores):
        return given
    kept = allowed[given.parts.modifiers - 1]
    return replace(given, label_scores=np.where(kept, given.label_scores, FORBIDDEN))


def _possible(given: Limits) -> np.ndarray:
    """Which arcs of a sentence are within its limits, bool [n + 1, n + 1]."""
    n, n_labels = given.labels.shape
    arcs = np.ones((n + 1, n + 1), np.bool_)
    np.fill_diagonal(arcs, False)
    arcs[0, 1:] = given.labels[:, ROOT_LABEL]
    if n_labels > 1:
        arcs[1:, 1:] &= given.labels[:, ROOT_LABEL + 1 :].any(axis=1)
    known = np.flatnonzero(given.heads != UNKNOWN)
    only = np.zeros((n + 1, len(known)), np.bool_)
    only[given.heads[known], np.arange(len(known))] = True
    arcs[:, known + 1] &= only
    return arcs


def _nearest_tree(arcs: np.ndarray, given: Limits, structure: int, multi_root: bool) -> np.ndarray | None:
    """A tree within the limits with as many of these arcs, bool [n + 1, n + 1], as any: heads int32 [n + 1]."""
    scores = np.where(_possible(given), arcs - 1.0, FORBIDDEN)
    heads = np.zeros(len(arcs), np.int32)
    decode = maximum_spanning_tree if structure in (SPANNING, LOOPY) else eisner
    return heads if decode(scores, multi_root, heads) > FORBIDDEN / 2 else None


def _first_contradiction(given: Limits, structure: int, multi_root: bool) -> int:
    """The first token whose limits cannot be kept together with those of the tokens before."""
    n = len(given.heads)
    nothing = np.zeros((n + 1, n + 1), np.bool_)
    kept, end = 0, n
    while end - kept > 1:
        middle = (kept + end) // 2
        heads, labels = given.heads.copy(), given.labels.copy()
        heads[middle:], labels[middle:] = UNKNOWN, True
        if _nearest_tree(nothing, Limits(heads, labels), structure, multi_root) is None:
            end = middle
        else:
            kept = middle
    return kept
