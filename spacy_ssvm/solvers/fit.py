"""Run solvers without spaCy: start one, run one epoch, or run it to its end."""

import importlib

import numpy as np

from .learner import Certificate, Learner, Progress
from .parameters import Parameters
from .problem import Problem


def start(parameters: Parameters, problem: Problem, weights: np.ndarray | None = None, n_threads: int = 1) -> Learner:
    """The learner that these parameters name.

    weights: where to start, float64 [d]; zeros by default. n_threads: how many threads call oracles, in solvers that
    call them at one w.

    Raises:
        ValueError: the problem's structure does not offer the oracle that the solver needs.
    """
    module, name = parameters.learner.split(":")
    learner: Learner = getattr(importlib.import_module(module), name)(parameters, problem, weights)
    learner.n_threads = n_threads
    return learner


def run_epoch(learner: Learner, rng: np.random.Generator, examples: np.ndarray | None = None) -> Progress:
    """Run one epoch and return its figures.

    rng: draws the order in which all examples are visited, and whatever the solver needs. examples: int64, visited in
    this order instead.
    """
    learner.begin_epoch(rng)
    learner.visit(rng.permutation(learner.problem.n_examples) if examples is None else examples)
    learner.end_epoch()
    return learner.progress()


def fit(
    parameters: Parameters, problem: Problem, max_epochs: int, n_threads: int = 1
) -> tuple[Learner, Certificate | None]:
    """Learn until the solver's tolerance is reached or for `max_epochs` epochs.

    n_threads: as in `start`.

    Returns the learner, whose `prediction_weights` are the result, and its certificate at the end, None for solvers
    without.
    """
    learner = start(parameters, problem, n_threads=n_threads)
    rng = np.random.default_rng(parameters.seed)
    for _ in range(max_epochs):
        run_epoch(learner, rng)
        if learner.done():
            break
    return learner, learner.certificate()
