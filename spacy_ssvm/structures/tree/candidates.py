"""Which heads a token may have: all, or those that a cheap first pass leaves."""

import numpy as np

from ...features.arc_hashing import hash_words
from ...kernels import kernel
from .data import Trees
from .scores import feature_room, gather, single_features


@kernel
def _all_candidates(starts, candidate_starts, candidates):
    at = 0
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h != m:
                    candidates[at] = h
                    at += 1
            candidate_starts[starts[sentence] + m] = at


def all_candidates(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Candidate starts int64 [T + 1] and candidates int32 with every arc of every sentence; starts: int64 [n + 1]."""
    lengths = np.diff(starts)
    candidate_starts, candidates = np.zeros(int(starts[-1]) + 1, np.int64), np.zeros(int(lengths @ lengths), np.int32)
    _all_candidates(starts, candidate_starts, candidates)
    return candidate_starts, candidates


@kernel
def _prune(trees, weights, most, margin, needed, candidate_starts, candidates):
    at = 0
    starts = trees.columns.starts
    for sentence in range(len(starts) - 1):
        n = starts[sentence + 1] - starts[sentence]
        words = hash_words(trees.columns, trees.program, sentence)
        indices, values = feature_room(trees, n)
        scores, kept = np.empty(n + 1), np.zeros(n + 1, np.bool_)
        for m in range(1, n + 1):
            token = starts[sentence] + m - 1
            if n <= 2:
                kept[:] = True
            else:
                for h in range(n + 1):
                    scores[h] = -np.inf
                    if h != m:
                        found = single_features(
                            trees.program.arcs, words, h, m, trees.shape.arc_bits, indices, values, 0
                        )
                        scores[h] = gather(weights, indices, values, found)
                kept[:] = False
                least = np.max(scores) - margin
                for _ in range(most):
                    best = np.argmax(scores)
                    if scores[best] < least:
                        break
                    kept[best] = True
                    scores[best] = -np.inf
            kept[m - 1] = True
            kept[m] = False
            if needed[token] >= 0:
                kept[needed[token]] = True
            for h in range(n + 1):
                if kept[h]:
                    candidates[at] = h
                    at += 1
            candidate_starts[token + 1] = at


def prune(
    trees: Trees, weights: np.ndarray, most: int, margin: float, needed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The `most` best heads of each token by a first pass with its own templates and weights.

    trees: the sentences with the first pass's program; its candidates are not read. weights: float64 [d].
    needed: int32 [T], a head that is kept in any case, or −1. The token before is always kept, so that every token
    can be reached from the root. Returns candidate starts int64 [T + 1] and candidates int32.
    """
    n_tokens = int(trees.columns.starts[-1])
    candidate_starts = np.zeros(n_tokens + 1, np.int64)
    candidates = np.zeros(n_tokens * (most + 2), np.int32)
    _prune(trees, weights, most, margin, needed, candidate_starts, candidates)
    return candidate_starts, candidates[: candidate_starts[-1]].copy()
