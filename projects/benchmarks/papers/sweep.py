"""Do all runs of the papers that have no record yet: python -m papers.sweep [--papers dcd …] [--jobs 2].

Runs go `jobs` at a time; those whose seconds are shown then go alone, one after the other. A run ends with a row in
the table of its task, METRICS/TASK.jsonl. If a sweep is interrupted, the next one goes on with the runs that have none.
Runs of a corpus that is not there are left out and named. With --epochs no run is longer than that.
"""

import argparse
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import metrics
from .catalogue import PAPERS, find_runs
from .runs import Run, execute
from .tasks import NoData

FAILED = "failed:"


def attempt(run: Run, data: Path) -> dict[str, Any] | str:
    """Do one run; returns its record, or why it could not be done."""
    warnings.simplefilter("ignore")
    try:
        return execute(run, data)
    except NoData as error:
        return f"no data: {error}"
    except Exception:
        return f"{FAILED} {run.name}:\n{traceback.format_exc()}"


def is_done(run: Run, table: metrics.Table) -> bool:
    """Whether the table of its task has all that this run measures."""
    record = table.get(run.row)
    return record is not None and record["epochs"] == run.epochs and run.is_shown_by(record)


def sweep(runs: Sequence[Run], data: Path, folder: Path, jobs: int) -> Counter:
    """Do the runs without a record; returns the reasons for those that could not be done, and how often each occurs."""
    reasons: Counter = Counter()
    tables = {task: metrics.read(folder, task) for task in {run.task for run in runs}}
    missing = [run for run in runs if not is_done(run, tables[run.task])]
    for timed, workers in ((False, jobs), (True, 1)):
        # In the order of tasks, so that a process reads a corpus once.
        chosen = sorted((run for run in missing if run.timed == timed), key=lambda run: run.task)
        # Fresh processes, which read how many threads to use.
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            started = {pool.submit(attempt, run, data): run for run in chosen}
            label = "timed" if timed else "scores"
            for future in tqdm(as_completed(started), total=len(chosen), desc=label, unit="run"):
                run, error = started[future], future.exception()
                result = future.result() if error is None else f"{FAILED} {error!r}"
                if isinstance(result, str):
                    reasons[result] += 1
                else:
                    metrics.write(folder, run.task, run.row, result)
    return reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", nargs="+", choices=list(PAPERS), default=list(PAPERS))
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    arguments = parser.parse_args()
    runs = find_runs(arguments.papers)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if arguments.epochs:
        runs = [replace(run, epochs=min(run.epochs, arguments.epochs)) for run in runs]
    reasons = sweep(runs, arguments.data, arguments.metrics, arguments.jobs)
    for reason, count in reasons.items():
        print(f"{count} without a record, {reason}")
    if any(reason.startswith(FAILED) for reason in reasons):
        sys.exit(1)


if __name__ == "__main__":
    main()
