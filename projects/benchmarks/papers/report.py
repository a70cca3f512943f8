"""Write the report of all runs in the tables of metrics: METRICS FOLDER."""

import argparse
from collections import Counter
from pathlib import Path

from shared.page import Page

from .catalogue import PAPERS, find_runs
from .results import Results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    results, page = Results(given.metrics), Page(given.folder, "papers")
    page.heading("Four papers, on open data", 1)
    page.text(
        "Every solver is ours and runs on the same features and decoders, with one "
        "thread and one seed: differences of a tenth in time or in a score are noise. Seconds are CPU time "
        "spent learning, without reading, feature extraction and scoring; runs whose seconds are shown ran alone or "
        f"beside others on two cores. “{page.MISSING}” is a figure that is not there; the end says why. The papers' "
        "own figures are on other data, features and machines: they show what was claimed."
    )
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


if __name__ == "__main__":
    main()
