"""A learner run epoch by epoch, whatever its tolerance."""

import numpy as np


def epochs(learner, n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(learner.problem.n_examples))
        learner.end_epoch()
    return learner
