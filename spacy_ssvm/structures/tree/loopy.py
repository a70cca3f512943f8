"""Non-projective trees with siblings and grandparents, approximately: loopy belief propagation with a TREE factor.

Smith & Eisner 2008; Martins et al. 2010, §2.2 and §3.2. There is a binary variable for each candidate arc: whether it
is in the tree. The factor graph is exactly the model of `Parts`, without omissions or relaxations:

- TREE, over all arcs: 1 if they form a tree, else 0, times exp of the arcs' scores. Its messages are the log-odds of
  the marginals by the matrix-tree theorem, minus the log-odds of the messages that it received;
- a head automaton for each head and side, over its candidate modifiers, because siblings in `Parts` are neighbours,
  which no factor over two arcs can express. Its messages are computed by forward-backward;
- GRAND, for each listed pair of arcs (g, h), (h, m): exp of its score if both arcs are in the tree.

Messages are log-odds. A round updates the automata, then the pairs, one after the other with the newest beliefs, then
TREE. The beliefs are TREE's marginals, so those of each token's heads sum to one. Without pairs, one round is exact.
"""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .parts import NONE, Parts, dense_scores, score_tree
from .spanning import maximum_spanning_tree, tree_marginals

DAMPING = 0.3
"""The weight of the old message in a new one."""

SHARPNESS = 8.0
"""The spread to which `loopy_decode` scales the scores."""

REACH = 30.0
"""Arcs enter TREE with log-odds at most this far below those of their token's best arc, so that nothing underflows."""

SUM_TOLERANCE = 1e-6
"""Largest deviation of the sum of a token's marginals from one."""

LIMIT = 300.0
"""Bound of the magnitude of log-odds before exp."""

TINY = 1e-100
"""Smaller probabilities are replaced by this one, so that log-odds stay finite."""


class Messages(NamedTuple):
    """The messages of the factors to the arcs, in log-odds.

    Attributes:
        belief: float64 [A], sum of all messages.
        evidence: float64 [A], sum of all messages except TREE's, plus the arcs' scores.
        siblings: float64 [A], from the automaton.
        upper, lower: float64 [G], from each GRAND to its arcs (g, h) and (h, m).
        boosts: float64 [G], exp of the pairs' scores.
    """

    belief: np.ndarray
    evidence: np.ndarray
    siblings: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    boosts: np.ndarray


@kernel
def _start(parts):
    """Initial messages, all 0; TREE has to set belief."""
    size, pairs = len(parts.heads), len(parts.grands)
    boosts = np.empty(pairs)
    for k in range(pairs):
        boosts[k] = math.exp(min(max(parts.grand_scores[k], -LIMIT), LIMIT))
    return Messages(np.zeros(size), parts.scores.copy(), np.zeros(size), np.zeros(pairs), np.zeros(pairs), boosts)


@kernel
def _send(messages, own, number, arc, message):
    """Replace own[number], the message of a factor to an arc, by a new message, damped."""
    change = (1.0 - DAMPING) * (message - own[number])
    own[number] += change
    messages.belief[arc] += change
    messages.evidence[arc] += change


@kernel
def _ask_siblings(automata, messages, automaton, odds, answers):
    """`run_automaton` on the current messages; returns the log-partition."""
    first = automata.starts[automaton]
    for c in range(len(odds)):
        arc = automata.arcs[first + c]
        odds[c] = messages.belief[arc] - messages.siblings[arc]
    return run_automaton(automata, automaton, odds, answers)


@kernel
def _update_siblings(automata, messages):
    longest = np.max(np.diff(automata.starts))
    odds, answers = np.empty(longest), np.empty(longest)
    for automaton in range(len(automata.starts) - 1):
        first, end = automata.starts[automaton], automata.starts[automaton + 1]
        if first == end:
            continue
        _ask_siblings(automata, messages, automaton, odds[: end - first], answers)
        for c in range(end - first):
            arc = automata.arcs[first + c]
            _send(messages, messages.siblings, arc, arc, answers[c])


@kernel
def _pair_message(odds, boost):
    """The message of a pair to one of its arcs, from the log-odds of the other arc; boost: exp of the pair's score."""
    other = math.exp(min(max(odds, -LIMIT), LIMIT))
    return math.log((1.0 + boost * other) / (1.0 + other))


@kernel
def _update_grandparents(parts, messages):
    belief, upper, lower = messages.belief, messages.upper, messages.lower
    for arc in range(len(parts.heads)):
        for k in range(parts.grand_starts[arc], parts.grand_starts[arc + 1]):
            above = parts.grands[k]
            _send(messages, lower, k, arc, _pair_message(belief[above] - upper[k], messages.boosts[k]))
            _send(messages, upper, k, above, _pair_message(belief[arc] - lower[k], messages.boosts[k]))


@kernel
def _is_distribution(marginals):
    """Whether the marginals of each token's heads are at least 0 and sum to one, up to rounding; false for NaN."""
    for m in range(1, len(marginals)):
        total = 0.0
        for h in range(len(marginals)):
            if h != m:
                if not marginals[h, m] >= -SUM_TOLERANCE:
                    return False
                total += marginals[h, m]
        if not abs(total - 1.0) <= SUM_TOLERANCE:
            return False
    return True


@kernel
def _enter_tree(parts, evidence, reach, dense):
    """Write the evidence to the matrix `dense`, raised to at least that of the token's best arc minus `reach`."""
    size, first = len(parts.heads), 0
    while first < size:
        m, end = parts.modifiers[first], first
        while end < size and parts.modifiers[end] == m:
            end += 1
        lowest = np.max(evidence[first:end]) - reach
        for arc in range(first, end):
            dense[parts.heads[arc], m] = max(evidence[arc], lowest)
        first = end


@kernel
def _update_tree(parts, multi_root, messages, reach, dense, marginals, beliefs):
    """Update TREE from the evidence: write beliefs, float64 [A], and their log-odds, messages.belief.

    Args:
        reach: how far below its token's best arc an arc may enter; reduced if the marginals are still no distribution.
        dense, marginals: float64 [n + 1, n + 1], scratch; dense is FORBIDDEN where there is no candidate. Returns
            TREE's log-partition and the largest change of a belief.
    """
    size, change = len(parts.heads), 0.0
    _enter_tree(parts, messages.evidence, reach, dense)
    log_partition = tree_marginals(dense, multi_root, marginals)
    reach = min(reach, 2.0 * REACH)
    while reach > 1.0 and not _is_distribution(marginals):
        reach /= 2.0
        _enter_tree(parts, messages.evidence, reach, dense)
        log_partition = tree_marginals(dense, multi_root, marginals)
    first = 0
    while first < size:
        m, end = parts.modifiers[first], first
        rest = 0.0
        # 1 − p is computed as the sum over the token's other heads, which loses no precision.
        while end < size and parts.modifiers[end] == m:
            messages.belief[end] = rest
            rest += max(marginals[parts.heads[end], m], 0.0)
            end += 1
        rest = 0.0
        for arc in range(end - 1, first - 1, -1):
            p = max(marginals[parts.heads[arc], m], 0.0)
            absent = messages.belief[arc] + rest
            messages.belief[arc] = math.log(max(p, TINY)) - math.log(max(absent, TINY))
            rest += p
            change = max(change, abs(p - beliefs[arc]))
            beliefs[arc] = p
        first = end
    return log_partition, change


@kernel
def _update_pairs(parts, automata, messages):
    if len(parts.siblings) > 0:
        _update_siblings(automata, messages)
    _update_grandparents(parts, messages)


@kernel
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@kernel
def _bethe(parts, automata, messages, tree):
    """The Bethe approximation of the log-partition: Σ over factors, minus Σ over arcs, which are counted repeatedly.

    Args:
        tree: TREE's log-partition.
    """
    total = tree
    if len(parts.siblings) > 0:
        longest = np.max(np.diff(automata.starts))
        odds, answers = np.empty(longest), np.empty(longest)
        for automaton in range(len(automata.starts) - 1):
            k = automata.starts[automaton + 1] - automata.starts[automaton]
            total += _ask_siblings(automata, messages, automaton, odds[:k], answers)
        for arc in range(len(parts.heads)):
            total -= _softplus(messages.belief[arc])
    for arc in range(len(parts.heads)):
        for k in range(parts.grand_starts[arc], parts.grand_starts[arc + 1]):
            above = parts.grands[k]
            odds_arc = messages.belief[arc] - messages.lower[k]
            odds_above = messages.belief[above] - messages.upper[k]
            both = odds_arc + odds_above + parts.grand_scores[k]
            # log(1 + e^odds_arc + e^odds_above + e^both)
            either = np.logaddexp(odds_arc, odds_above)
            total += np.logaddexp(np.logaddexp(0.0, both), either)
            total -= _softplus(messages.belief[arc]) + _softplus(messages.belief[above])
    return total


@kernel
def loopy_marginals(parts, multi_root, max_iterations, tolerance, beliefs):
    """Approximate marginals of the arcs; exact if there are no pairs.

    Args:
        tolerance: rounds end when no belief changes by more than this.
        beliefs: float64 [A], output.

    Returns:
        The Bethe approximation of the log-partition, which is no bound, the number of TREE's updates, and whether the
        rounds have converged. If no tree consists of candidate arcs: −inf, and beliefs of 0.
    """
    dense, marginals = dense_scores(parts), np.zeros(parts.number.shape)
    beliefs[:] = 0.0
    messages, automata = _start(parts), build_automata(parts)
    iterations, converged = 1, len(parts.siblings) + len(parts.grands) == 0
    reach = np.inf if converged else REACH
    log_partition, _ = _update_tree(parts, multi_root, messages, reach, dense, marginals, beliefs)
    if log_partition == -np.inf:
        return log_partition, iterations, False
    while not converged and iterations < max_iterations:
        _update_pairs(parts, automata, messages)
        log_partition, change = _update_tree(parts, multi_root, messages, reach, dense, marginals, beliefs)
        iterations += 1
        converged = change <= tolerance
    return _bethe(parts, automata, messages, log_partition), iterations, converged


@kernel
def _variance(values):
    return np.var(values) if len(values) > 0 else 0.0


@kernel
def _sharpened(parts):
    """The parts with their scores scaled to the spread SHARPNESS.

    The spread is the square root of the variance of the arcs' scores around the mean of their token, plus the variances
    of the siblings' and of the grandparents' scores.
    """
    total, first, size = 0.0, 0, len(parts.heads)
    while first < size:
        end = first
        while end < size and parts.modifiers[end] == parts.modifiers[first]:
            end += 1
        total += (end - first) * np.var(parts.scores[first:end])
        first = end
    spread = math.sqrt(total / size + _variance(parts.sibling_scores) + _variance(parts.grand_scores))
    scale = SHARPNESS / spread if spread > 0.0 else 1.0
    return Parts(
        parts.number,
        parts.heads,
        parts.modifiers,
        parts.scores * scale,
        parts.sibling_starts,
        parts.siblings,
        parts.sibling_scores * scale,
        parts.grand_starts,
        parts.grands,
        parts.grand_scores * scale,
    )


@kernel
def _best_tree_of_beliefs(parts, beliefs, multi_root, dense, heads):
    """Write the tree with the largest product of beliefs to heads. dense: scratch, FORBIDDEN without a candidate."""
    for arc in range(len(parts.heads)):
        dense[parts.heads[arc], parts.modifiers[arc]] = math.log(max(beliefs[arc], TINY))
    maximum_spanning_tree(dense, multi_root, heads)


@kernel
def loopy_decode(parts, multi_root, max_iterations, tolerance, heads):
    """Write a tree of high score to heads int32 [n + 1], heads[0] = −1, and return its score; often the best tree.

    After each round, the maximum spanning tree of the log-beliefs is scored by `Parts`; the best of these trees is the
    result, so it never scores below the best first-order tree. It is exact if there are no pairs. The scores are scaled
    first: the best tree does not depend on their scale, and sharp beliefs are closer to a maximum. For random trees of
    6 tokens, with arc scores of standard deviation 1 and pair scores of 1/2, 90 % of the results are the best tree
    after 10 rounds, as against 15 % of the best first-order trees (`loopy_quality.py` among the benchmarks).
    """
    dense = dense_scores(parts)
    maximum_spanning_tree(dense, multi_root, heads)
    best = score_tree(parts, heads)
    if len(parts.siblings) + len(parts.grands) == 0:
        return best
    candidate, marginals, beliefs = np.empty_like(heads), np.zeros(parts.number.shape), np.zeros(len(parts.heads))
    sharp = _sharpened(parts)
    messages, automata = _start(sharp), build_automata(sharp)
    _update_tree(sharp, multi_root, messages, REACH, dense, marginals, beliefs)
    iterations, change = 1, np.inf
    while iterations < max_iterations and change > tolerance:
        _update_pairs(sharp, automata, messages)
        _, change = _update_tree(sharp, multi_root, messages, REACH, dense, marginals, beliefs)
        iterations += 1
        _best_tree_of_beliefs(parts, beliefs, multi_root, dense, candidate)
        score = score_tree(parts, candidate)
        if score > best:
            best = score
            heads[:] = candidate
    return best


class Automata(NamedTuple):
    """The candidate modifiers of each head h to its left (automaton 2h) and to its right (2h + 1), from h outwards.

    An automaton visits its arcs in order, and accepts or skips each; its state is the last accepted arc. It thus scores
    a set of children by the accepted arcs, each with its inner neighbour, as `Parts` does.

    Attributes:
        starts: int64 [2n + 3], first arc of each automaton.
        arcs: int32 [A], sorted by automaton and distance.
        transition_starts: int64 [A + 1].
        transitions: float64, for each arc the sibling scores of accepting it first, and of accepting it after each of
            the earlier arcs of its automaton, in order.
    """

    starts: np.ndarray
    arcs: np.ndarray
    transition_starts: np.ndarray
    transitions: np.ndarray


@kernel
def build_automata(parts):
    """The automata of all heads and sides; pairs that are not listed score 0."""
    n, size = len(parts.number) - 1, len(parts.heads)
    starts, arcs, place = np.zeros(2 * n + 3, np.int64), np.empty(size, np.int32), np.empty(size, np.int64)
    at = 0
    for automaton in range(2 * n + 2):
        h, step = automaton // 2, 1 if automaton % 2 else -1
        m = h + step
        while 0 < m <= n:
            arc = parts.number[h, m]
            if arc != NONE:
                arcs[at], place[arc] = arc, at - starts[automaton]
                at += 1
            m += step
        starts[automaton + 1] = at
    transition_starts = np.zeros(size + 1, np.int64)
    for arc in range(size):
        transition_starts[arc + 1] = transition_starts[arc] + place[arc] + 1
    transitions = np.zeros(transition_starts[size])
    for arc in range(size):
        for k in range(parts.sibling_starts[arc], parts.sibling_starts[arc + 1]):
            state = 0 if parts.siblings[k] == NONE else place[parts.siblings[k]] + 1
            transitions[transition_starts[arc] + state] = parts.sibling_scores[k]
    return Automata(starts, arcs, transition_starts, transitions)


@kernel
def run_automaton(automata, automaton, odds, answers):
    """Compute the messages of one automaton; returns its log-partition. O(k²).

    Args:
        odds: float64 [k], log-odds of the k arcs without this automaton.
        answers: float64 [k], output, the messages. The weight of all sets without an arc is summed directly, not as a
            difference from the total, so messages are accurate even where an arc is almost certain.
    """
    first, k = automata.starts[automaton], len(odds)
    transitions = automata.transitions
    before, after = np.empty(k + 1), np.empty(k + 1)
    begins = np.empty(k, np.int64)
    before[0], largest = 0.0, 0.0
    for c in range(k):
        begins[c] = automata.transition_starts[automata.arcs[first + c]]
        highest, total = -np.inf, 0.0
        for state in range(c + 1):
            highest = max(highest, before[state] + transitions[begins[c] + state])
        for state in range(c + 1):
            total += math.exp(before[state] + transitions[begins[c] + state] - highest)
        before[c + 1] = highest + math.log(total) + odds[c]
        largest = max(largest, before[c + 1])
    total = 0.0
    for state in range(k + 1):
        total += math.exp(before[state] - largest)
    log_partition = largest + math.log(total)
    without = np.zeros(k)
    for state in range(k, -1, -1):
        # A state is followed by the end, or by any later arc c as the next one accepted.
        highest = 0.0
        for c in range(state, k):
            highest = max(highest, transitions[begins[c] + state] + odds[c] + after[c + 1])
        reached = math.exp(before[state] + highest - log_partition)
        total = math.exp(-highest)
        for c in range(k - 1, state - 1, -1):
            without[c] += reached * total
            total += math.exp(transitions[begins[c] + state] + odds[c] + after[c + 1] - highest)
        after[state] = highest + math.log(total)
    for c in range(k):
        answers[c] = before[c + 1] + after[c + 1] - log_partition - math.log(max(without[c], TINY)) - odds[c]
    return log_partition
