"""One solver on one task, and the curve that is kept of it."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.solvers.learner import Learner, run_epoch, start
from spacy_ssvm.solvers.parameters import Parameters
from spacy_ssvm.solvers.problem import Problem

from .tasks import load

WARM_UP = 8
"""Examples that a solver sees before the clock runs, so that its kernels are compiled."""


@dataclass(frozen=True)
class Run:
    """A solver on a task for some epochs, or until it is at its tolerance.

    task: a name of `tasks.TASKS`. solver: a registered name, "DCD" for "spacy-ssvm.DCD.v1". settings: the rest of its
    block. timed: whether its seconds are shown, so that nothing may run beside it. certified: whether the exact primal
    and dual are computed after each epoch, not the last only. every: epochs between two evaluations.
    """

    task: str
    solver: str
    epochs: int
    settings: tuple[tuple[str, Any], ...] = ()
    timed: bool = False
    certified: bool = False
    every: int = 1

    @property
    def row(self) -> str:
        """The name of its row in the table of its task: solver and settings."""
        return ",".join([self.solver, *(f"{key}={value}" for key, value in self.settings)])

    @property
    def name(self) -> str:
        """Task, solver and settings."""
        return f"{self.task}/{self.row}"

    def is_shown_by(self, record: dict[str, Any]) -> bool:
        """Whether a record of this name has measured, for its epochs, all that this run measures."""
        return (
            record["every"] <= self.every
            and (record["timed"] or not self.timed)
            and (record["certified"] or not self.certified)
        )


def run(task: str, solver: str, epochs: int, *, timed=False, certified=False, every=1, **settings: Any) -> Run:
    """A Run whose settings are keywords."""
    return Run(task, solver, epochs, tuple(sorted(settings.items())), timed, certified, every)


def execute(run: Run, data: Path) -> dict[str, Any]:
    """Learn from the corpora of a folder, and return the record: what was run, and a row for each epoch.

    A row holds seconds, CPU time spent learning so far; the scores in per cent where it was evaluated; loss, the
    sum that the epoch's visits suffered; primal and dual, exact if certified or last; gap, relative; planes, the size
    of the working sets; non_zeros of the weights that predict.
    """
    task = load(run.task, data)
    parameters = ssvm_solvers.get(f"spacy-ssvm.{run.solver}.v1")(**dict(run.settings))
    _warm_up(parameters, task.problem)
    learner, rng = start(parameters, task.problem), np.random.default_rng(parameters.seed)
    rows: list[dict[str, Any]] = []
    seconds = 0.0
    for epoch in range(1, run.epochs + 1):
        started = time.process_time()
        run_epoch(learner, rng)
        seconds += time.process_time() - started
        done = learner.done()
        finished = done or epoch == run.epochs
        row = _figures(learner, run.certified or finished)
        if epoch % run.every == 0 or finished:
            row |= {name: round(score, 3) for name, score in task.evaluate(learner.prediction_weights()).items()}
        rows.append({"epoch": epoch, "seconds": round(seconds, 3), **row})
        if finished:
            break
    return {
        "task": run.task,
        "solver": run.solver,
        "settings": dict(run.settings),
        "epochs": run.epochs,
        "timed": run.timed,
        "certified": run.certified,
        "every": run.every,
        "done": done,
        "examples": task.problem.n_examples,
        "weights": task.problem.dimension,
        "rows": rows,
    }


def _warm_up(parameters: Parameters, problem: Problem) -> None:
    """Run everything once on a few examples; type-II loops, which come late, at once."""
    if hasattr(parameters, "kappa1"):
        parameters = replace(parameters, kappa1=0)
    learner, rng = start(parameters, problem), np.random.default_rng(0)
    for _ in range(2):
        run_epoch(learner, rng, np.arange(min(WARM_UP, problem.n_examples)))


def _figures(learner: Learner, certified: bool) -> dict[str, Any]:
    progress = learner.progress()
    row: dict[str, Any] = {
        "loss": progress.loss,
        "dual": progress.dual,
        "planes": progress.planes,
        "non_zeros": int(np.count_nonzero(learner.prediction_weights())),
    }
    certificate = learner.certificate() if certified else None
    if certificate is not None:
        row |= {"primal": certificate.primal, "dual": certificate.dual, "gap": certificate.relative_gap}
    return row
