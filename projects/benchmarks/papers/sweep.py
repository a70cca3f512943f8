"""Do all runs of the papers that have no record yet: python -m papers.sweep [--papers dcd …] [--jobs 2].

Runs go `jobs` at a time, then those whose seconds are shown alone, one after the other. A run ends with a record in
METRICS; whatever interrupts the sweep, the next one goes on with the runs that have none. Runs of a corpus that is not
there are left out and named. With --epochs no run is longer than that.
"""

import argparse
import os
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import srsly
from tqdm import tqdm

from .catalogue import PAPERS, find_runs
from .runs import Run, execute, write
from .tasks import NoData

FAILED = "failed:"


def record(run: Run, data: Path, metrics: Path) -> str:
    """Do one run; returns why it could not be done, or nothing."""
    warnings.simplefilter("ignore")
    try:
        found = execute(run, data)
    except NoData as error:
        return f"no data: {error}"
    except Exception:
        return f"{FAILED} {run.name}:\n{traceback.format_exc()}"
    write(found, metrics / f"{run.name}.json")
    return ""


def is_done(run: Run, path: Path) -> bool:
    """Whether there is a record of all that this run would say."""
    if not path.exists():
        return False
    found = srsly.read_json(path)
    return bool(found["epochs"] == run.epochs and run.is_shown_by(found))


def sweep(runs: Iterable[Run], data: Path, metrics: Path, jobs: int) -> Counter:
    """Do these runs; returns the reasons for those that are missing, and how many."""
    reasons: Counter = Counter()
    missing = [run for run in runs if not is_done(run, metrics / f"{run.name}.json")]
    for timed, workers in ((False, jobs), (True, 1)):
        # In the order of tasks, so that a process reads a corpus once.
        chosen = sorted((run for run in missing if run.timed == timed), key=lambda run: run.task)
        # Fresh processes, which read how many threads to use.
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            done = as_completed(pool.submit(record, run, data, metrics) for run in chosen)
            for one in tqdm(done, total=len(chosen), desc="timed" if timed else "scores", unit="run"):
                error = one.exception()
                reasons[one.result() if error is None else f"{FAILED} {error!r}"] += 1
    del reasons[""]
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
