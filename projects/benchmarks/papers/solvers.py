"""Every solver on the same tags and chunks."""

from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from shared.page import Page

from .results import NEAR, Record, Results
from .runs import Run, run

TASKS = {
    "pos-ewt": "Tags of EWT, with the tagger's features",
    "chunks": "IOB2 chunk tags of CoNLL-2000, with the chunker's features and given tags",
}


class Entry(NamedTuple):
    """A row of the table: a solver by its usual name, with settings chosen on EWT's development part."""

    name: str
    solver: str
    settings: dict[str, Any]
    epochs: int = 15


ENTRIES = [
    Entry("perceptron", "Perceptron", {}),
    Entry("MIRA, C = 0.01", "MIRA", {"C": 0.01}),
    Entry("MIRA, k = 5, C = 0.01", "MIRA", {"C": 0.01, "k": 5}),
    Entry("prediction MIRA", "PredictionMIRA", {}),
    Entry("prediction MIRA, k = 5", "PredictionMIRA", {"k": 5}),
    Entry("SGD, C = 0.1", "SGD", {"C": 0.1}),
    Entry("DCD-Light, C = 0.1", "DCDLight", {"C": 0.1}),
    Entry("DCD-SSVM, C = 0.1", "DCD", {"C": 0.1}),
    Entry("CPD, C = 0.1", "CPD", {"C": 0.1}, 40),
    Entry("SDM, C = 0.1", "SDM", {"C": 0.1}),
    Entry("Frank–Wolfe, C = 0.1", "FrankWolfe", {"C": 0.1}),
    Entry("Frank–Wolfe, averaged, C = 0.1", "FrankWolfe", {"C": 0.1, "averaging": True}),
    Entry("1-slack, C = 0.1", "OneSlack", {"C": 0.1}, 40),
    Entry("SAP, ρ₁ = 0, ρ₂ = 1, C = 0.1", "SAP", {"C": 0.1, "rho1": 0, "rho2": 1}),
    Entry("SAP, ρ₁ = 0.4, ρ₂ = 0.6, C = 0.2", "SAP", {"C": 0.2, "rho1": 0.4, "rho2": 0.6}),
    Entry("projected subgradient, ε = 3000", "ProjectedSubgradient", {"epsilon": 3000}, 40),
    Entry("extragradient, C = 0.5", "Extragradient", {"C": 0.5}, 3),
    Entry("LSE, C = 0.01", "LSE", {"C": 0.01}),
    Entry("LSE, printed oracle, C = 0.01", "LSE", {"C": 0.01, "oracle": "printed"}),
    Entry("LSE, cutting plane, C = 0.01", "LSECuttingPlane", {"C": 0.01}),
    Entry("DCA, softmax-margin, C = 1", "DCA", {"C": 1}, 10),
    Entry("SGD, softmax-margin, C = 1", "SGD", {"C": 1, "beta": 1}, 10),
    Entry("exponentiated gradient, softmax-margin, C = 1", "ExponentiatedGradient", {"C": 1}, 10),
    Entry("exponentiated gradient, CRF, C = 1", "ExponentiatedGradient", {"C": 1, "gamma": 0}, 10),
    Entry("L-BFGS, softmax-margin, C = 1", "LBFGS", {"C": 1}, 4),
    Entry("L-BFGS, CRF, C = 1", "LBFGS", {"C": 1, "gamma": 0}, 4),
]


def entry_run(task: str, entry: Entry) -> Run:
    return run(task, entry.solver, entry.epochs, **entry.settings)


RUNS = [entry_run(task, entry) for task in TASKS for entry in ENTRIES]


def report(results: Results, page: Page) -> None:
    page.heading("Every solver on tags and chunks")
    page.text(
        f"Median CPU seconds of an epoch, beside other runs unless a figure shows their seconds; epochs to {NEAR:.1%} "
        "of the best development score; that score, and the test score and the non-zeros of the same epoch; the exact "
        "relative gap after the last epoch. Accuracies of tokens. C is chosen on the tags and kept for the chunks. An "
        "epoch of L-BFGS is ten iterations."
    )
    for task, name in TASKS.items():
        entries = [(entry.name, results[entry_run(task, entry)]) for entry in ENTRIES]
        records = [record for _, record in entries if record is not None]
        if records:
            page.text(f"{name}: {records[0].examples:,} sentences, {records[0].weights:,} possible weights.")
        rows = [[label, *([None] * 7 if record is None else row(record))] for label, record in entries]
        page.table(["solver", "epochs", "s", "to 99.9 %", "dev", "test", "gap", "non-zeros"], rows)


def row(record: Record) -> list[object]:
    """The cells of one solver."""
    best = record.best()
    near = record.reaching("dev", NEAR * best["dev"])
    ends = [0.0, *(one["seconds"] for one in record.rows)]
    gap = record.last.get("gap")
    return [
        len(record.rows),
        f"{median(b - a for a, b in pairwise(ends)):.1f}",
        near and near["epoch"],
        f"{best['dev']:.2f}",
        f"{best['test']:.2f}",
        "-" if gap is None else "> 100%" if gap > 1 else f"{gap:.2%}",
        f"{best['non_zeros']:,}",
    ]
