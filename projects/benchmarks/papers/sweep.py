"""Do all runs of the papers that have no record yet: [--papers dcd …] [--jobs 2].

Runs go `jobs` at a time, with --address by the workers of a Ray cluster; those whose seconds are shown then go alone,
one after the other, on this machine. A run ends with a row in the table of its task, METRICS/TASK.jsonl. If a sweep is
interrupted, the next one goes on with the runs that have none. Runs of a corpus that is not there are left out and
named. With --epochs no run is longer than that. All machines of a cluster have the package, this project and the data
at the same paths.
"""

import argparse
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from shared import metrics
from tqdm import tqdm

from spacy_ssvm.distributed.cluster import map_unordered

from .catalogue import PAPERS, find_runs
from .runs import Run, execute
from .tasks import NoData

FAILED = "failed:"


def attempts(data: Path) -> Callable[[Run], tuple[Run, dict[str, Any] | str]]:
    """A function that does one run; it returns the run and its record, or why it could not be done."""
    warnings.simplefilter("ignore")

    def attempt(run: Run) -> tuple[Run, dict[str, Any] | str]:
        try:
            return run, execute(run, data)
        except NoData as error:
            return run, f"no data: {error}"
        except Exception:
            return run, f"{FAILED} {run.name}:\n{traceback.format_exc()}"

    return attempt


def is_done(run: Run, table: metrics.Table) -> bool:
    """Whether the table of its task has all that this run measures."""
    record = table.get(run.row)
    return record is not None and record["epochs"] == run.epochs and run.is_shown_by(record)


def sweep(runs: Sequence[Run], data: Path, folder: Path, jobs: int, address: str | None) -> Counter:
    """Do the runs without a record; returns the reasons for those that could not be done, and how often each occurs."""
    reasons: Counter = Counter()
    tables = {task: metrics.read(folder, task) for task in {run.task for run in runs}}
    missing = [run for run in runs if not is_done(run, tables[run.task])]
    # Seconds are those of this machine.
    for timed, n_workers, place in ((False, jobs, address), (True, 1, None)):
        # In the order of tasks, so that a process reads a corpus once.
        chosen = sorted((run for run in missing if run.timed == timed), key=lambda run: run.task)
        if not chosen:
            continue
        done = map_unordered(attempts(data), partial(attempts, data), chosen, n_workers, place, attrgetter("name"))
        for run, result in tqdm(done, total=len(chosen), desc="timed" if timed else "scores", unit="run"):
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
    parser.add_argument(
        "--address", nargs="?", help="Ray cluster whose workers do the runs whose seconds are not shown"
    )
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    arguments = parser.parse_args()
    runs = find_runs(arguments.papers)
    if arguments.epochs:
        runs = [replace(run, epochs=min(run.epochs, arguments.epochs)) for run in runs]
    reasons = sweep(runs, arguments.data.resolve(), arguments.metrics, arguments.jobs, arguments.address)
    for reason, count in reasons.items():
        print(f"{count} without a record, {reason}")
    if any(reason.startswith(FAILED) for reason in reasons):
        sys.exit(1)


if __name__ == "__main__":
    main()
