"""Draw the plots of docs/ from the tables of metrics: METRICS FOLDER."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from papers.results import Record, Results, curves
from papers.runs import run
from papers.solvers import ENTRIES, entry_run
from shared import metrics
from shared.page import Curve, Page, Panel
from speed.parts import TABLE
from speed.prediction import lengths_panel

from . import margin

SHOWN = {
    "DCD-SSVM": "DCD-SSVM, C = 0.1",
    "SDM": "SDM, C = 0.1",
    "MIRA": "MIRA, C = 0.01",
    "perceptron": "perceptron",
    "SGD": "SGD, C = 0.1",
    "SAP, sparse": "SAP, ρ₁ = 0.4, ρ₂ = 0.6, C = 0.2",
    "DCA, softmax-margin": "DCA, softmax-margin, C = 1",
}
"""The solvers that are drawn, and their entries in the table of all."""
TASKS = {"pos-ewt": ("Tags of English EWT", (92.5, 95.2)), "chunks": ("Chunk tags of CoNLL-2000", (95, 97))}
SPARSE = {0.9: 0.1, 0.5: 0.5, 0.3: 0.7, 0.1: 0.9}
"""ρ₁ → ρ₂ of SAP."""
SYSTEMS = {
    "plain": "spacy-ssvm",
    "classes": "spacy-ssvm, with word classes",
    "crfsuite": "CRFsuite",
    "spacy": "spaCy",
}
FEW = {
    "ewt": ("Tags of English EWT", "accuracy"),
    "ner-dutch": ("Dutch entities", "F1"),
    "parser": ("Trees of English EWT", "LAS"),
}


def solvers(results: Results) -> list[Panel]:
    """Score by time."""
    entries = {entry.name: entry for entry in ENTRIES}
    panels = []
    for task, (title, y_range) in TASKS.items():
        records = {name: results[entry_run(task, entries[entry])] for name, entry in SHOWN.items()}
        shown = curves(records, "seconds", "dev")
        panels.append(Panel(title, "CPU seconds of learning", "development accuracy", shown, "x", y_range))
    return panels


def points(name: str, records: Iterable[Record | None]) -> Curve:
    """Score by size, at the best epoch of each record."""
    best = [record.best() for record in records if record is not None]
    return Curve(name, [row["non_zeros"] for row in best], [row["dev"] for row in best])


def sparsity(results: Results) -> list[Panel]:
    """Score by the number of weights."""
    panels = []
    for task, (title, _) in TASKS.items():
        sap = [results[run(task, "SAP", 50, C=0.1, rho1=rho1, rho2=rho2)] for rho1, rho2 in SPARSE.items()]
        balls = [results[run(task, "ProjectedSubgradient", 40, epsilon=size)] for size in (1000, 3000, 10000)]
        others = {entry.name: results[entry_run(task, entry)] for entry in ENTRIES}
        shown = [points("SAP, ρ₁ from 0.9 to 0.1", sap), points("projected subgradient, ε from 1000 to 10000", balls)]
        shown += [points(name, [others[name]]) for name in ("perceptron", "DCD-SSVM, C = 0.1")]
        panels.append(Panel(title, "weights that are not zero", "development accuracy", shown, "x"))
    return panels


def learning_curves(tables: Path) -> list[Panel]:
    """Score by the number of training sentences."""
    table = metrics.read(tables, "learning-curves")
    panels = []
    for corpus, (title, measure) in FEW.items():
        shown = []
        for system, name in SYSTEMS.items():
            sizes = [int(row.split(",")[1]) for row in table if row.startswith(f"{corpus},") and row.endswith(system)]
            scores = {size: table[f"{corpus},{size},{system}"]["dev"] for size in sorted(sizes)}
            shown.append(Curve(name, list(scores), list(scores.values())))
        shown = [curve for curve in shown if curve.x]
        panels.append(Panel(title, "training sentences", f"development {measure}", shown, "x"))
    return panels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    results, page = Results(given.metrics), Page(given.folder, "docs")
    page.plot("solvers", "Score by time", solvers(results), columns=2)
    page.plot("sparsity", "Score by size", sparsity(results), columns=2)
    page.plot("learning-curves", "Score by sentences", learning_curves(given.metrics), columns=2)
    page.figure("margin", "Scores of tag sequences before and after training", margin.figure)
    speed = metrics.read(given.metrics, TABLE)["prediction"]["figures"]
    page.plot("speed-lengths", "CPU time of a token by the length of a Doc", [lengths_panel(speed)])


if __name__ == "__main__":
    main()
