"""The head automata of siblings: one chain for each head and side, and its messages by forward-backward."""

import math
from typing import NamedTuple

import numpy as np

from ...kernels import kernel
from .parts import NONE

TINY = 1e-100
"""Probabilities below are taken for this, so that log-odds stay finite."""


class Automata(NamedTuple):
    """The candidate modifiers of each head h to its left (automaton 2h) and to its right (2h + 1), from h outwards.

    An automaton passes its arcs from the first to the last and takes each or leaves it; its state is the arc taken
    last. So it scores a set of children by the arcs taken, each with its inner neighbour, as `Parts` does.

    starts: int64 [2n + 3], first arc of each automaton.
    arcs: int32 [A], sorted by automaton and distance.
    transition_starts: int64 [A + 1]; transitions: float64, for each arc the sibling scores of taking it first, and
    of taking it after each arc of its automaton before it, in order.
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
    """The log-partition of one automaton and its log-odds of each arc beyond the arc's own.

    odds: float64 [k], log-odds of the k arcs without this automaton. answers: float64 [k], output.
    The weight of all sets without an arc is summed by itself, not as what those with it leave of the whole: the
    messages stay exact where an arc is almost certain. O(k²).
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
        # What may follow a state: nothing more, or the next arc c taken, and so on.
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
