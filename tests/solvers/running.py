"""Learners run epoch by epoch, whatever their tolerance, or step for step; and their working sets as lists."""

import numpy as np
import pytest

from spacy_ssvm.solvers import working_set
from spacy_ssvm.solvers.learner import run_epoch, start


def visits(problem, epochs=3):
    """The examples in random order, again and again."""
    rng = np.random.default_rng(5)
    return np.concatenate([rng.permutation(problem.n_examples) for _ in range(epochs)])


def check_steps(learner, examples, expected, averaged):
    """The learner's weights after each of the first visits, and after all of them at once."""
    at_once, total = start(learner.parameters, learner.problem, learner.prediction_weights()), 0.0
    for visit, (example, w) in enumerate(zip(examples, expected, strict=True), 1):
        learner.visit(np.array([example]))
        total = total + w
        result = total / visit if averaged else w
        np.testing.assert_allclose(learner.prediction_weights(), result, rtol=0, atol=1e-9)
    assert np.abs(result).max() > 0.01
    at_once.visit(examples)
    assert at_once.prediction_weights().tobytes() == learner.prediction_weights().tobytes()
    assert at_once.progress().loss == pytest.approx(learner.progress().loss, rel=1e-12)


def epochs(learner, n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        run_epoch(learner, rng)
    return learner


def until(learner, gap, max_epochs):
    """The learner, once its gap is as small."""
    for _ in range(0, max_epochs, 10):
        certificate = epochs(learner, 10).certificate()
        if certificate is not None and certificate.relative_gap <= gap:
            break
    return learner


def planes_of(planes, example):
    """(α, Δ, indices, values) of each plane in an example's working set."""
    found, p = [], planes.head[example]
    while p != working_set.NO_PLANE:
        found.append((planes.alpha[p], planes.loss[p], *working_set.read_plane(planes, p)))
        p = planes.next[p]
    return found
