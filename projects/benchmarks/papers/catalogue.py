"""The papers, the table of all solvers, and the runs that they need."""

from collections.abc import Iterable
from dataclasses import replace

from . import dca, dcd, lse, sap, solvers
from .runs import Run

PAPERS = {"dcd": dcd, "lse": lse, "dca": dca, "sap": sap, "solvers": solvers}


def find_runs(papers: Iterable[str]) -> list[Run]:
    """Each run of these papers once: where two papers want the same, it does what both need."""
    found: dict[str, Run] = {}
    for paper in papers:
        for run in PAPERS[paper].RUNS:
            other = found.setdefault(run.name, run)
            found[run.name] = replace(
                run,
                epochs=max(run.epochs, other.epochs),
                timed=run.timed or other.timed,
                certified=run.certified or other.certified,
                every=min(run.every, other.every),
            )
    return list(found.values())
