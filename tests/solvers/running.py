"""Learners run epoch by epoch, whatever their tolerance, and their working sets as lists."""

import numpy as np

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.learner import run_epoch


def epochs(learner, n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        run_epoch(learner, rng)
    return learner


def planes_of(planes, example):
    """(α, Δ, indices, values) of each plane in an example's working set."""
    found, p = [], planes.head[example]
    while p != working_set.NO_PLANE:
        found.append((planes.alpha[p], planes.loss[p], *working_set.read_plane(planes, p)))
        p = planes.next[p]
    return found
