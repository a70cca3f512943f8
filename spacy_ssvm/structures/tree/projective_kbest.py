"""The k best projective trees, exactly: the best first, then trees that leave a known one at one choice.

A tree is a sequence of choices: the options of its items, in the order in which `expand` lays them open. No two
sequences make the same tree, since Eisner's items derive each tree once. An item's chart entry is the best that
its options can lead to, so that the best of all trees that keep t choices of a known tree and then take another option
is known without being decoded; these sets of trees, for all t and options, are disjoint (Lawler 1972). A further tree
thus costs O(n²) at most, after O(n³) for the first one.
"""

import numpy as np

from ...kernels import kernel
from .parts import FORBIDDEN, NONE
from .projective import best_option, expand, fill_charts, new_agenda, option_score, options


@kernel
def insert(branches, scores, size, score, tree, place, option):
    """Keep (tree, place, option) among the best branches if it is one of them; returns how many there are.

    branches: int64 [k, 3], best first, with their scores float64 [k]; a new one comes behind those that equal it.
    """
    if score <= FORBIDDEN / 2 or (size == len(scores) and score <= scores[size - 1]):
        return size
    at = min(size, len(scores) - 1)
    size = at + 1
    while at > 0 and scores[at - 1] < score:
        branches[at], scores[at] = branches[at - 1], scores[at - 1]
        at -= 1
    branches[at, 0], branches[at, 1], branches[at, 2], scores[at] = tree, place, option, score
    return size


@kernel
def eisner_kbest(scores, k, multi_root):
    """The k best projective trees, best first: their scores float64 [m] and heads int32 [m, n + 1], heads[:, 0] = −1.

    scores, multi_root: as for `eisner`. All trees differ, and m < k where fewer are free of FORBIDDEN arcs.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    n = len(scores) - 1
    charts = fill_charts(scores, multi_root)
    heads, choices = np.full((k, n + 1), NONE, np.int32), np.empty((k, 2 * n), np.int32)
    # The trees found are the first branches: what is inserted later is never better than the last of them.
    branches, tree_scores = np.empty((k, 3), np.int64), np.empty(k)
    size = insert(branches, tree_scores, 0, charts.right[0, n], 0, -1, NONE)
    found = 0
    while found < size:
        tree, place, option = branches[found]
        agenda, waiting = new_agenda(n)
        step = 0
        while waiting > 0:
            waiting -= 1
            kind, a, b = agenda[waiting]
            if step < place:
                choice = np.int64(choices[tree, step])
            elif step == place:
                choice = option
            else:
                choice = best_option(charts, kind, a, b)
                best = option_score(charts, kind, a, b, choice)
                first, end = options(kind, a, b)
                for other in range(first, end):
                    if other != choice:
                        loss = best - option_score(charts, kind, a, b, other)
                        size = insert(branches, tree_scores, size, tree_scores[found] - loss, found, step, other)
            choices[found, step] = choice
            waiting = expand(kind, a, b, choice, agenda, waiting, heads[found])
            step += 1
        found += 1
    return tree_scores[:found], heads[:found]
