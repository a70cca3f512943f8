"""DCD-SSVM: visits that leave out what hardly raised the dual, and what ends that."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.learner import run_epoch, start
from spacy_ssvm.solvers.rests import MAX_PAUSE

from ..problems import all_planes, halves, objective, random_problem, slacks_of
from .running import epochs


def waiting(learner):
    return bool(
        learner.rests.schedule.pauses.any() or learner.rests.schedule.rests.any() or learner.rests.schedule.slacks.any()
    )


def test_a_call_that_is_left_out_lends_its_last_slack():
    """Near the optimum all examples pause; then the running primal is that of the last calls, and nearly exact."""
    problem, parameters = random_problem(5), Dcd(C=0.5, delta=0, inner_passes=20, tolerance=0)
    planes, rng = all_planes(problem), np.random.default_rng(0)
    learner = epochs(start(parameters, problem), 60)
    for _ in range(MAX_PAUSE):
        paused = learner.rests.schedule.pauses > 0
        slacks = learner.rests.schedule.slacks.copy()
        figures = run_epoch(learner, rng)
        np.testing.assert_array_equal(learner.rests.schedule.slacks[paused], slacks[paused])
        assert figures.loss == pytest.approx(learner.rests.schedule.slacks.sum(), rel=1e-12)
        assert figures.primal == pytest.approx(objective(planes, learner.w, 0.5, 2), rel=1e-4)
    assert learner.rests.schedule.lengths.max() == MAX_PAUSE
    np.testing.assert_allclose(learner.rests.schedule.slacks, np.maximum(slacks_of(planes, learner.w), 0), atol=1e-2)


@pytest.mark.parametrize("change", ["retune", "extend", "remove", "forget"])
def test_what_changes_the_problem_ends_all_waiting(change):
    part, whole = halves()
    learner = epochs(start(Dcd(C=0.5), part), 20)
    assert waiting(learner)
    every = np.arange(part.n_examples)
    if change == "retune":
        assert learner.retune(replace(learner.parameters, C=2.0))
    elif change == "extend":
        learner.change(whole)
    elif change == "remove":
        learner.change(learner.problem, every)
    else:
        learner.change(learner.problem, every, subtracts=False)
    assert not waiting(learner) and len(learner.rests.schedule.pauses) == learner.problem.n_examples
