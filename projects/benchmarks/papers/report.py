"""Write the report of all runs in the tables of metrics: python -m papers.report METRICS FOLDER."""

import sys
from collections import Counter
from pathlib import Path

from . import metrics, peers
from .catalogue import PAPERS, find_runs
from .page import Page
from .results import Results


def main() -> None:
    tables, folder = map(Path, sys.argv[1:])
    results, page = Results(tables), Page(folder)
    page.heading("Four papers, on open data", 1)
    page.text(
        "Below the comparison with others, every solver is ours and runs on the same features and decoders, with one "
        "thread and one seed: differences of a tenth in time or in a score are noise. Seconds are CPU time "
        "spent learning, without reading, feature extraction and scoring; runs whose seconds are shown ran alone or "
        f"beside others on two cores. “{page.MISSING}” is a figure that is not there; the end says why. The papers' "
        "own figures are on other data, features and machines: they show what was claimed."
    )
    peers.report(results, page)
    for paper in PAPERS.values():
        paper.report(results, page)
    gaps(results, page)
    page.write()


def gaps(results: Results, page: Page) -> None:
    """What is missing, and why."""
    page.heading("What is not here")
    page.text(
        "- CoNLL-2003, MUC-7 and the Penn Treebank are licensed: no figure on them.\n"
        "- OCR letters, Covertype and Sector are fetched with `spacy project assets --extra`; without them the tables "
        "show stand-ins, or nothing.\n"
        "- Arabic, Danish and the English of the CoNLL-X and 2008 tasks are not among our data: see Figure 4."
    )
    runs = find_runs(PAPERS)
    counts = Counter(run.task for run in runs)
    missing = Counter(run.task for run in runs if results[run] is None)
    if missing:
        page.text("Runs that have not been done yet, or have no data:")
        page.table(["task", "runs", "missing"], [[task, counts[task], count] for task, count in missing.items()])
    peers_missing = sorted(name for name in results.missing if name.startswith(metrics.PEERS))
    if peers_missing:
        page.text("Not measured yet: " + ", ".join(peers_missing) + ".")


if __name__ == "__main__":
    main()
