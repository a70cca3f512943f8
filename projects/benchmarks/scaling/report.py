"""Write the page of what grows: METRICS RULES FOLDER.

RULES is the folder of metrics of `projects/distributed`, which has measured what workers send.
"""

import argparse
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shared import metrics
from shared.page import Page

from .measure import TABLE
from .traffic import ENTRY_BYTES, PowerLaw, fit, fit_traffic

TASKS = {"tags": "EWT, XPOS", "entities": "CoNLL-2002 Dutch, entities", "trees": "EWT, 2,000 trees"}
RULE = "momentum"
FIRST, LAST = 2, 10
"""The epochs whose mean traffic is shown: in the first one, all dual variables are new."""
GIGABIT = 1e9 / 8
SIZES = [10.0**k for k in range(6, 10)]
TOKENS = [10.0**k for k in range(6, 12)]
WORKERS = (2, 8, 64)


def growth_of(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The rows of each component and corpus, in the order of tokens."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run, row in rows:
        if run.startswith("growth,"):
            _, component, corpus, _ = run.split(",")
            found.setdefault((component, corpus), []).append(row)
    return {name: sorted(of_name, key=lambda row: row["tokens"]) for name, of_name in found.items()}


def fitted(rows: list[dict[str, Any]], column: str) -> PowerLaw:
    """A column by tokens."""
    return fit([row["tokens"] for row in rows], [row[column] for row in rows])


def traffic_of(folder: Path, task: str) -> dict[int, tuple[float, float]]:
    """The bytes that all workers send and get in an epoch, by their number."""
    found = {}
    for run, record in metrics.read(folder, task).items():
        rule, workers = run.split(",")
        rows = {row["epoch"]: row for row in record["rows"]}
        if rule == RULE and LAST in rows:
            first, last = rows[FIRST - 1], rows[LAST]
            up, down = ((last[way] - first[way]) / (LAST - FIRST + 1) for way in ("up", "down"))
            found[int(workers)] = (up, down)
    return found


def power(law: PowerLaw) -> str:
    """factor · xᵉ."""
    digits = max(0, 1 - math.floor(math.log10(law.factor)))
    return f"{law.factor:,.{digits}f} · T^{law.exponent:.2f}"


def clock(seconds: float) -> str:
    """In a unit that suits."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def rounded(number: float) -> str:
    """To one digit, as a multiple of a power of ten."""
    digit, _, exponent = f"{number:.0e}".partition("e")
    return f"{digit} · 10^{int(exponent)}"


def growth(rows: dict[tuple[str, str], list[dict[str, Any]]], page: Page) -> None:
    page.heading("Weights")
    page.text(
        "The weights that are not zero grow by Heaps' law, more slowly than the tokens. All weights, each feature with "
        "each label, grow faster. The parser's features are hashed, so the number of all its weights is fixed. "
        "Measured after three epochs of DCD in one process; seconds are CPU time of the fastest one."
    )
    lines = []
    for (component, corpus), of_name in rows.items():
        first, last = of_name[0], of_name[-1]
        cells = [f"{first['tokens']:,} – {last['tokens']:,}"]
        for column in ("weights", "non_zeros"):
            cells += [f"{last[column]:,}", power(fitted(of_name, column))]
        lines.append([component, corpus, *cells, f"{1e6 * last['seconds'] / last['tokens']:.1f}"])
    header = ["component", "corpus", "tokens T", "all weights", "fit", "not zero", "fit", "µs a token and epoch"]
    page.table(header, lines, texts=3)


def sent(rules: Path, page: Page) -> None:
    page.heading("Bytes")
    page.text(
        f"MB that all workers together send to the driver and get from it in an epoch of DCD, means of the epochs "
        f"{FIRST} to {LAST}, measured by `projects/distributed`."
    )
    lines = []
    for task, title in TASKS.items():
        for workers, (up, down) in sorted(traffic_of(rules, task).items()):
            lines.append([title, workers, f"{up / 1e6:,.0f}", f"{down / 1e6:,.0f}"])
    page.table(["task", "workers", "to the driver", "to the workers"], lines)


def extrapolated(rows: list[dict[str, Any]], measured: dict[int, tuple[float, float]], page: Page) -> None:
    """What the tagger's workers would send on larger corpora."""
    page.heading("Larger corpora")
    page.text(
        "By calculation, from the figures of EWT's tagger above: each worker sends two vectors, as large as its part "
        "of the corpus lets them become, and gets what the others have moved of the weights that it reads. In "
        "brackets, the time that all this takes through a link of 1 Gbit/s, beside the CPU time of an epoch of one "
        "process. Several workers need more epochs than one. This goes over up to five powers of ten: it shows orders "
        "of magnitude."
    )
    traffic = fit_traffic(rows[-1]["tokens"], measured, fitted(rows, "weights"))
    non_zeros = fitted(rows, "non_zeros")
    rate = rows[-1]["seconds"] / rows[-1]["tokens"]
    lines = []
    for size in SIZES:
        tokens = (size / non_zeros.factor) ** (1 / non_zeros.exponent)
        cells = [rounded(tokens), clock(tokens * rate), f"{size * ENTRY_BYTES / 1e9:,.2f}"]
        for workers in WORKERS:
            n_bytes = traffic.n_bytes(tokens, workers)
            cells.append(f"{n_bytes / 1e9:,.2f} ({clock(n_bytes / GIGABIT)})")
        lines.append([f"10^{math.log10(size):.0f}", *cells])
    header = ["not zero", "tokens", "one process", "one vector, GB", *(f"{workers} workers, GB" for workers in WORKERS)]
    page.table(header, lines)


def annotation(row: dict[str, Any], page: Page) -> None:
    page.heading("Annotation")
    page.text(
        "`spacy ssvm apply` has no rounds: more workers pay until the driver is busy with cutting texts, or its link "
        "with sending them. `.spacy` files are read by the workers themselves, but the driver reads them, too, to cut "
        "them. This is the number of workers that one driver keeps busy, for a tagger, and the time of a run with so "
        "many, by the tokens of the corpus: by calculation, from CPU seconds of one process."
    )
    lines = []
    for name, bandwidth in (("1 Gbit/s", GIGABIT), ("100 Mbit/s", GIGABIT / 10)):
        for files, cut, text in ((".txt", "cut", row["text"]), (".spacy", "cut_docs", 0.0)):
            pace = max(row[cut], text / bandwidth)
            times = (clock(tokens * pace) for tokens in TOKENS)
            lines.append([name, files, f"{row['token'] / pace:,.0f}", *times])
    page.table(["link", "files", "workers", *(f"10^{math.log10(tokens):.0f}" for tokens in TOKENS)], lines, texts=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("rules", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    table = metrics.read(given.metrics, TABLE)
    rows = growth_of(table.items())
    page = Page(given.folder, "scaling")
    page.heading("Scaling", 1)
    machine = table["machine"]
    page.text(f"CPU seconds are those of {machine['processor']}, with Python {machine['Python']}.")
    growth(rows, page)
    sent(given.rules, page)
    extrapolated(rows["tagger", "ewt"], traffic_of(given.rules, "tags"), page)
    annotation(table["annotating"], page)
    page.write()


if __name__ == "__main__":
    main()
