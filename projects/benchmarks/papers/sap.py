"""Elastic-net SSVM by SAP: sparsity and accuracy (Balamurugan et al. 2012)."""

from collections.abc import Sequence

from shared.page import Page, Panel

from .results import Record, Results, Row, curves, verdict
from .runs import Run, run
from .tasks import LETTERS

LARGE = {"pos-ewt": "POS, EWT", "chunks": "CoNLL-2000", "pos-brown": "Brown"}
SWEPT = {"pos-ewt": "POS, EWT", "chunks": "CoNLL-2000"}
FOLD_TASKS = (f"{LETTERS}-0", f"{LETTERS}-6")
DENSE_CS = (0.01, 0.1, 1)
FEW = {"pos-ewt": 5000, "chunks": 5000, "pos-brown": 20000}
"""What counts as a few thousand weights: Brown has four times as many labels as the others."""
RHOS, CS = (0.9, 0.5, 0.3, 0.1), (0.1, 1, 10)
EPOCHS, LETTER_EPOCHS = 50, 100
RADII = (1000, 3000, 10000)
GAPS = {0.1: 1e-3, 1: 1e-2}
"""C, and the relative gap at which it counts as solved."""
LETTER_RADII = (30, 100, 300, 1000)
PAPERS_TABLE_2 = {
    ("POS", "SAP"): (3089, 94.17, "≈ 6 hours"),
    ("POS", "projected subgradient"): (3924, 94.14, "> 3 days"),
    ("CoNLL-2000", "SAP"): (2313, 95.2, "≈ 22 hours"),
    ("CoNLL-2000", "projected subgradient"): (9398, 95.2, "> 4 days"),
}
PAPERS_TABLE_3 = {
    "POS": (3365, 0.02, 94.5),
    "WSJPOS": (8906, 0.05, 96),
    "CoNLL-2000": (2981, 0.01, 95.4),
    "Brown": (17407, 0.032, 96.7),
}
PAPERS_TABLE_4 = {
    ("POS", 0.1): (3967, 0.02, 94.57),
    ("POS", 1): (5104, 0.03, 95.21),
    ("POS", 10): (5110, 0.03, 95.14),
    ("CoNLL-2000", 0.1): (2313, 0.006, 95.23),
    ("CoNLL-2000", 1): (2981, 0.008, 95.41),
    ("CoNLL-2000", 10): (4107, 0.01, 95.53),
}


def sap(task: str, rho1: float, C: float, epochs: int, timed: bool = False) -> Run:
    return run(task, "SAP", epochs, timed=timed, C=C, rho1=rho1, rho2=round(1 - rho1, 3))


def swept(task: str, C: float) -> Run:
    """ρ₁ = 0.9, for Tables II to IV; the first of CS is timed."""
    return sap(task, 0.9, C, EPOCHS, timed=CS[0] == C)


def solved(C: float) -> Run:
    """ρ₁ = 0.9 on the chunks, until the relative gap is small."""
    return run("chunks", "SAP", 3000, every=50, C=C, rho1=0.9, rho2=0.1, tolerance=GAPS[C])


def ball(task: str, radius: float, epochs: int) -> Run:
    return run(task, "ProjectedSubgradient", epochs, timed=True, epsilon=radius)


def dense(task: str) -> list[Run]:
    return [sap(task, 0, C, 15) for C in DENSE_CS]


RUNS = [
    *(sap(task, 0.7, 1, LETTER_EPOCHS, timed=True) for task in FOLD_TASKS),
    *(ball(task, radius, LETTER_EPOCHS) for task in FOLD_TASKS for radius in LETTER_RADII),
    *(ball(task, radius, EPOCHS) for task in SWEPT for radius in RADII),
    *(swept(task, C) for task in SWEPT for C in CS),
    *(solved(C) for C in GAPS),
    sap("pos-brown", 0.9, 1, EPOCHS),
    *(sap(task, rho1, 0.1, EPOCHS) for task in SWEPT for rho1 in RHOS),
    *(wanted for task in LARGE for wanted in dense(task)),
]


def report(results: Results, page: Page) -> None:
    page.heading("Sparse models: the elastic-net SSVM by SAP (Balamurugan et al. 2012)")
    page.text(
        "ρ₂ = 1 − ρ₁ throughout. The paper shows the best test score of a number of iterations; we show the test score "
        "of the epoch with the best development score, and the best test score in brackets. Scores are accuracies of "
        "tokens; non-zeros are of the weights that are evaluated. Our features are others than the paper's, and fewer."
    )
    sizes(results, page)
    figure_1(results, page)
    table_2(results, page)
    table_3(results, page)
    figure_3(results, page)
    table_4(results, page)
    converged(results, page)
    claims(results, page)


def sizes(results: Results, page: Page) -> None:
    rows = [
        [name, f"{record.examples:,}", f"{record.weights:,}"]
        for task, name in LARGE.items()
        if (record := results[dense(task)[0]]) is not None
    ]
    page.table(["corpus", "training sentences", "possible weights"], rows)


def tested(record: Record) -> str:
    """The test score at the best development score, and the best test score."""
    return f"{record.best()['test']:.2f} ({record.best('test')['test']:.2f})"


def sparsity(record: Record) -> list[object]:
    """Non-zeros, their share in per cent, accuracy and epoch, where the development score is best."""
    best = record.best()
    share = 100 * best["non_zeros"] / record.weights
    return [f"{best['non_zeros']:,}", f"{share:.3f}", tested(record), best["epoch"]]


def both(title: str, named: dict[str, Record | None], x: str, label: str) -> list[Panel]:
    """Accuracy and non-zeros over epochs or seconds."""
    log = "x" if x == "seconds" else ""
    return [
        Panel(title, label, "test accuracy", curves(named, x, "test"), log=log),
        Panel(title, label, "non-zeros", curves(named, x, "non_zeros"), log=f"{log}y"),
    ]


def figure_1(results: Results, page: Page) -> None:
    """ε is chosen on the development part, another tenth of the letters."""
    page.heading("Figure 1: SAP and the projected subgradient method on letters", 3)
    panels: list[Panel] = []
    for task in FOLD_TASKS:
        other = results.chosen((ball(task, radius, LETTER_EPOCHS) for radius in LETTER_RADII), best_epoch=True)
        radius = "" if other is None else f", ε = {other.settings['epsilon']:g}"
        named = {
            "SAP, ρ₁ = 0.7, C = 1": results[sap(task, 0.7, 1, LETTER_EPOCHS, timed=True)],
            f"projected subgradient{radius}": other,
        }
        panels += both(task, named, "seconds", "CPU seconds")
    page.plot("sap-1", "Test accuracy and non-zeros against CPU seconds", panels, columns=2)


def as_good(results: Results, task: str, score: float) -> tuple[Record, Row] | None:
    """Of all epochs of SAP with a development score of at least so much, the one with the fewest weights."""
    runs = [*(swept(task, C) for C in CS), *(sap(task, rho1, 0.1, EPOCHS) for rho1 in RHOS)]
    rows = [(record, row) for record in results.all(runs) for row in record.scored if row["dev"] >= score]
    return min(rows, key=lambda pair: (pair[1]["non_zeros"], pair[1]["seconds"]), default=None)


def table_2(results: Results, page: Page) -> None:
    page.heading("Table II: elastic net and L1 ball", 3)
    page.text(
        "Each radius ε at its best development score; then of all epochs of SAP, with any ρ₁ and C of the tables "
        "below, the one with the fewest weights that scores at least as much there. Seconds of ρ₁ below 0.9 and of C "
        "above 0.1 are of runs beside others."
    )
    rows: list[list[object]] = []
    for task, name in SWEPT.items():
        for radius in RADII:
            other = results[ball(task, radius, EPOCHS)]
            if other is not None:
                rows.append([name, f"projected subgradient, ε = {radius}", *against(other.best())])
                mine = as_good(results, task, other.best()["dev"])
                if mine is not None:
                    settings = "ρ₁ = {rho1:g}, C = {C:g}".format(**mine[0].settings)
                    rows.append([name, f"SAP, {settings}", *against(mine[1])])
    rows += [
        [f"{name} (the paper)", method, f"{count:,}", None, accuracy, time]
        for (name, method), (count, accuracy, time) in PAPERS_TABLE_2.items()
    ]
    page.table(["corpus", "method", "non-zeros", "dev accuracy", "test accuracy", "time to there"], rows, texts=2)


def against(row: Row) -> list[object]:
    """The cells of an epoch in Table II."""
    return [f"{row['non_zeros']:,}", f"{row['dev']:.2f}", f"{row['test']:.2f}", f"{row['seconds']:.0f} s"]


def table_3(results: Results, page: Page) -> None:
    page.heading(f"Figure 2 and Table III: ρ₁ = 0.9, C = 1, the best of {EPOCHS} epochs", 3)
    rows, panels = [], []
    for task, name in LARGE.items():
        record = results[sap(task, 0.9, 1, EPOCHS)]
        if record is not None:
            rows.append([name, *sparsity(record)])
            panels += both(name, {"SAP": record}, "epoch", "epochs")
    rows += [[f"{name} (the paper)", f"{a:,}", b, c, None] for name, (a, b, c) in PAPERS_TABLE_3.items()]
    page.table(["corpus", "non-zeros", "% of weights", "test accuracy", "epoch"], rows)
    page.plot("sap-2", "Test accuracy and non-zeros against epochs", panels, columns=2)


def figure_3(results: Results, page: Page) -> None:
    page.heading("Figure 3: the effect of ρ₁, C = 0.1", 3)
    panels, rows = [], []
    for task, name in SWEPT.items():
        records = {rho1: results[sap(task, rho1, 0.1, EPOCHS)] for rho1 in RHOS}
        panels += both(name, {f"ρ₁ = {rho1:g}": record for rho1, record in records.items()}, "epoch", "epochs")
        for rho1, record in records.items():
            if record is not None:
                rows.append([name, f"{rho1:g}", tested(record), f"{record.best()['non_zeros']:,}"])
    page.table(["corpus", "ρ₁", "test accuracy", "non-zeros"], rows)
    page.plot("sap-3", "Test accuracy and non-zeros against epochs", panels, columns=2)


def table_4(results: Results, page: Page) -> None:
    page.heading(f"Table IV: the effect of C, ρ₁ = 0.9, the best of {EPOCHS} epochs (the paper's: of 100)", 3)
    rows: list[Sequence[object]] = []
    for task, name in SWEPT.items():
        for C in CS:
            record = results[swept(task, C)]
            if record is not None:
                rows.append([f"{name}, C = {C:g}", *sparsity(record)])
    for (name, C), (count, share, accuracy) in PAPERS_TABLE_4.items():
        rows.append([f"{name}, C = {C:g} (the paper)", f"{count:,}", share, accuracy, None])
    page.table(["corpus", "non-zeros", "% of weights", "test accuracy", "epoch"], rows)


def converged(results: Results, page: Page) -> None:
    page.heading("At the optimum: CoNLL-2000, ρ₁ = 0.9", 3)
    rows = []
    for C in GAPS:
        if (record := results[solved(C)]) is not None:
            last = record.last
            solution = f"{last['gap']:.2%}", last["epoch"], f"{last['seconds']:.0f}"
            rows.append([f"{C:g}", *solution, f"{last['dev']:.2f}", f"{last['test']:.2f}", f"{last['non_zeros']:,}"])
    page.table(["C", "relative gap", "epochs", "CPU seconds", "dev accuracy", "test accuracy", "non-zeros"], rows)


def claims(results: Results, page: Page) -> None:
    page.heading("Claims", 3)
    sparsity_claim(results, page)
    ball_claim(results, page)


def sparsity_claim(results: Results, page: Page) -> None:
    """The best development score of all epochs with few weights, against the best of the dense models."""
    parts: list[str] = []
    close: list[bool | None] = []
    for task, name in LARGE.items():
        runs = [swept(task, C) for C in CS] if task in SWEPT else [sap(task, 0.9, 1, EPOCHS)]
        sparse, full = results.all(runs), results.chosen(dense(task), best_epoch=True)
        rows = [row for record in sparse for row in record.scored if row["non_zeros"] <= FEW[task]]
        if len(sparse) == len(runs) and rows and full is not None:
            best, whole = max(rows, key=lambda row: row["dev"]), full.best()
            close.append(best["test"] >= whole["test"] - 0.5)
            parts.append(
                f"{name}: {best['test']:.2f} with {best['non_zeros']:,} weights, "
                f"{whole['test']:.2f} with {whole['non_zeros']:,}"
            )
    page.claim(
        "SAP is within 0.5 points of the dense model at a few thousand weights.",
        verdict(close, len(LARGE)),
        f"{'; '.join(parts)}. Dense is ρ₁ = 0, with the best of C = {', '.join(map(str, DENSE_CS))}." if parts else "",
    )


def ball_claim(results: Results, page: Page) -> None:
    """At each radius of the ball."""
    parts: list[str] = []
    leads: list[bool | None] = []
    for task, name in SWEPT.items():
        for radius in RADII:
            other = results[ball(task, radius, EPOCHS)]
            if other is not None:
                best, mine = other.best(), as_good(results, task, other.best()["dev"])
                leads.append(mine is not None and with_momentum(mine[1], best))
                ours = "none as good" if mine is None else f"{mine[1]['non_zeros']:,} in {mine[1]['seconds']:.0f} s"
                parts.append(f"{name}, ε = {radius}: {ours}, against {best['non_zeros']:,} in {best['seconds']:.0f} s")
    page.claim(
        "SAP is sparser than the projected subgradient method at the same accuracy, and faster.",
        verdict(leads, len(SWEPT) * len(RADII)),
        f"weights at its best development accuracy, and seconds to there: {'; '.join(parts)}." if parts else "",
    )


def with_momentum(a: Row, b: Row) -> bool:
    """Sparser and faster."""
    return bool(a["non_zeros"] < b["non_zeros"] and a["seconds"] < b["seconds"])
