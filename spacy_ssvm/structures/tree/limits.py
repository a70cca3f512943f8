"""Trees with limits: some tokens have a given head, or labels from a given set."""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import CYCLE, FORBIDDEN, SECOND_ROOT, Contradiction
from .parts import ROOT_LABEL, SPANNING, SPANNING_GRANDPARENTS, UNKNOWN
from .projective import eisner
from .scored import TreeScores
from .spanning import maximum_spanning_tree


class Limits(NamedTuple):
    """Limits of the trees over T tokens.

    Attributes:
        heads: int32 [T], the head that a token must have, as a position in the sentence from 1, 0 for the root, or
            UNKNOWN.
        labels: bool [T, L], the labels that the arc to a token may have; arcs without a label are ruled out.
    """

    heads: np.ndarray
    labels: np.ndarray

    def of(self, tokens: slice) -> "Limits":
        return Limits(self.heads[tokens], self.labels[tokens])

    def are_any(self) -> bool:
        return bool((self.heads != UNKNOWN).any() or not self.labels.all())


def limited_candidates(
    starts: np.ndarray,
    candidate_starts: np.ndarray,
    candidates: np.ndarray,
    limits: Limits,
    structure: int,
    multi_root: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The candidates within the limits, and the arcs of a tree within the limits that has as few others as possible.

    Args:
        starts: int64 [n + 1], of sentences. Candidates, given and returned, are as in `Trees`.

    Raises:
        Contradiction: no tree at all satisfies the limits.
    """
    counts, parts = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for first, end in pairwise(starts.tolist()):
        sentence_limits = limits.of(slice(first, end))
        kept = candidates[candidate_starts[first] : candidate_starts[end]]
        sizes = np.diff(candidate_starts[first : end + 1])
        if sentence_limits.are_any():
            arcs = np.zeros((end - first + 1,) * 2, np.bool_)
            arcs[kept, np.repeat(np.arange(1, end - first + 1), sizes)] = True
            arcs &= _possible(sentence_limits)
            heads = _nearest_tree(arcs, sentence_limits, structure, multi_root)
            if heads is None:
                token = _first_contradiction(sentence_limits, structure, multi_root)
                raise Contradiction(first + token, _reason(sentence_limits, token, structure, multi_root))
            arcs[heads[1:], np.arange(1, len(heads))] = True
            modifiers, kept = np.nonzero(arcs.T)
            sizes = np.bincount(modifiers, minlength=len(heads))[1:]
        counts.append(sizes)
        parts.append(kept.astype(np.int32))
    return np.cumsum(np.concatenate(counts)), np.concatenate(parts)


def with_labels(scores: TreeScores, allowed: np.ndarray) -> TreeScores:
    """Scores without the labels that are not allowed for an arc's modifier; allowed: bool [n, L]."""
    if not len(scores.label_scores):
        return scores
    kept = allowed[scores.parts.modifiers - 1]
    return replace(scores, label_scores=np.where(kept, scores.label_scores, FORBIDDEN))


def _possible(limits: Limits) -> np.ndarray:
    """The arcs of a sentence that are within its limits, bool [n + 1, n + 1]."""
    n, n_labels = limits.labels.shape
    arcs = np.ones((n + 1, n + 1), np.bool_)
    np.fill_diagonal(arcs, False)
    arcs[0, 1:] = limits.labels[:, ROOT_LABEL]
    if n_labels > 1:
        arcs[1:, 1:] &= limits.labels[:, ROOT_LABEL + 1 :].any(axis=1)
    limited = np.flatnonzero(limits.heads != UNKNOWN)
    only = np.zeros((n + 1, len(limited)), np.bool_)
    only[limits.heads[limited], np.arange(len(limited))] = True
    arcs[:, limited + 1] &= only
    return arcs


def _nearest_tree(arcs: np.ndarray, limits: Limits, structure: int, multi_root: bool) -> np.ndarray | None:
    """A tree within the limits with as many of the arcs as possible, or None: heads int32 [n + 1].

    Args:
        arcs: bool [n + 1, n + 1].
    """
    scores = np.where(_possible(limits), arcs - 1.0, FORBIDDEN)
    heads = np.zeros(len(arcs), np.int32)
    decode = maximum_spanning_tree if structure in (SPANNING, SPANNING_GRANDPARENTS) else eisner
    return heads if decode(scores, multi_root, heads) > FORBIDDEN / 2 else None


def _first_contradiction(limits: Limits, structure: int, multi_root: bool) -> int:
    """The first token whose limits contradict earlier tokens' limits, by bisection."""
    n = len(limits.heads)
    nothing = np.zeros((n + 1, n + 1), np.bool_)
    kept, end = 0, n
    while end - kept > 1:
        middle = (kept + end) // 2
        heads, labels = limits.heads.copy(), limits.labels.copy()
        heads[middle:], labels[middle:] = UNKNOWN, True
        if _nearest_tree(nothing, Limits(heads, labels), structure, multi_root) is None:
            end = middle
        else:
            kept = middle
    return kept


def _reason(limits: Limits, token: int, structure: int, multi_root: bool) -> str:
    """Why no tree satisfies a token's limits and those of the tokens before it in the sentence."""
    heads = limits.heads
    if heads[token] == UNKNOWN:
        return "patterns leave it only labels that no tree within the limits of the tokens before it has"
    if heads[token] == 0 and not multi_root and (heads[:token] == 0).any():
        return SECOND_ROOT
    above = token
    for _ in range(len(heads)):
        above = heads[above] - 1
        if above < 0 or above > token:
            break
        if above == token:
            return CYCLE
    kind = "tree" if structure in (SPANNING, SPANNING_GRANDPARENTS) else "projective tree"
    return f"no {kind} within the limits of the tokens before it has its head"
