"""The papers, the table of all solvers, and the runs that they need."""

from collections.abc import Iterable
from dataclasses import replace

from . import dca, dcd, lse, sap, solvers
from .runs import Run

PAPERS = {"dcd": dcd, "lse": lse, "dca": dca, "sap": sap, "solvers": solvers}


def find_runs(papers: Iterable[str]) -> list[Run]:
    """Each run of these papers once, so that its record serves all papers: where two want the same, it does both."""
    runs: dict[str, Run] = {}
    for paper in PAPERS.values():
        for run in paper.RUNS:
            other = runs.setdefault(run.name, run)
            runs[run.name] = replace(
                run,
                epochs=max(run.epochs, other.epochs),
                timed=run.timed or other.timed,
                certified=run.certified or other.certified,
                every=min(run.every, other.every),
            )
    wanted = {run.name for paper in papers for run in PAPERS[paper].RUNS}
    return [run for name, run in runs.items() if name in wanted]
