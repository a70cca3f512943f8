"""Run a solver to its end, without spaCy."""

import numpy as np

from .certificate import Certificate
from .learner import Learner, start
from .parameters import Parameters
from .problem import Problem


def fit(parameters: Parameters, problem: Problem, max_epochs: int) -> tuple[Learner, Certificate | None]:
    """Learn until the solver's tolerance is reached or for `max_epochs` epochs.

    Returns the learner, whose `prediction_weights` are the result, and the certificate of the end, None for
    solvers without.
    """
    learner = start(parameters, problem)
    rng = np.random.default_rng(parameters.seed)
    for _ in range(max_epochs):
        learner.begin_epoch(rng)
        learner.visit(rng.permutation(problem.n_examples))
        learner.end_epoch()
        if learner.done():
            break
    return learner, learner.certificate()
