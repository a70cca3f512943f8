"""Complete what the gold annotation leaves open, and project gold that no legal sequence agrees with."""

import numpy as np

from ...kernels import kernel
from .data import FORBIDDEN, Chains
from .viterbi import emission_scores, transition_scores, viterbi


@kernel
def _complete(chains, examples, annotated, weights, penalty, changed):
    """Set chains.gold to argmax_y wᵀΦ(x_i, y) + penalty · (tokens where y differs from `annotated`)."""
    transitions = transition_scores(chains, weights)
    constraints = chains.constraints
    for k in range(len(examples)):
        first, behind = chains.starts[examples[k]], chains.starts[examples[k] + 1]
        scores = chains.scores[: behind - first]
        emission_scores(chains, examples[k], weights, scores)
        for t in range(behind - first):
            for label in range(scores.shape[1]):
                if annotated[first + t] >= 0 and label != annotated[first + t]:
                    scores[t, label] += penalty
        path = chains.path[: behind - first]
        viterbi(scores, transitions, constraints.start, constraints.end, chains.best, path)
        for t in range(behind - first):
            if chains.gold[first + t] != path[t]:
                changed[k] = True
                chains.gold[first + t] = path[t]


def complete(chains: Chains, examples: np.ndarray, annotated: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Complete these examples, int64, by constrained decoding with w, float64 [d].

    annotated: int32 [T], gold labels where known, else -1; some legal sequence agrees with it.
    Returns the examples whose gold sequence has changed: what was learnt from their old one is void.
    """
    changed = np.zeros(len(examples), np.bool_)
    _complete(chains, examples, annotated, weights, FORBIDDEN, changed)
    return np.asarray(examples[changed])


def project(chains: Chains, annotated: np.ndarray, n_weights: int) -> int:
    """Replace annotation that no legal sequence agrees with by the nearest (fewest tokens changed) that one has.

    annotated: int32 [T], changed in place; chains.gold becomes a legal completion.
    Returns the number of examples whose annotation has changed.
    """
    chains.gold[:] = annotated
    examples = np.flatnonzero(~_are_legal(chains, annotated))
    if len(examples):
        _complete(chains, examples, annotated, np.zeros(n_weights), -1.0, np.zeros(len(examples), np.bool_))
    wrong = (annotated >= 0) & (annotated != chains.gold)
    annotated[wrong] = chains.gold[wrong]
    return len(np.unique(np.searchsorted(chains.starts, np.flatnonzero(wrong), "right")))


def _are_legal(chains: Chains, annotated: np.ndarray) -> np.ndarray:
    """Whether each example is annotated completely, and as the constraints allow, bool [n]."""
    constraints = chains.constraints
    legal = (annotated >= 0) & (constraints.token[chains.kinds, annotated] == 0)
    follows = constraints.transition[annotated[:-1], annotated[1:]] == 0
    filled = chains.starts[:-1] < chains.starts[1:]
    first, last = chains.starts[:-1][filled], chains.starts[1:][filled] - 1
    legal[first] &= constraints.start[annotated[first]] == 0
    legal[last] &= constraints.end[annotated[last]] == 0
    inside = np.ones(len(annotated), np.bool_)
    inside[first] = False
    legal[1:] &= follows | ~inside[1:]
    all_legal = np.ones(len(filled), np.bool_)
    all_legal[filled] = np.logical_and.reduceat(legal, first) if len(first) else True
    return all_legal
