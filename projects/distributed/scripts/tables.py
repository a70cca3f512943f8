"""The records as Markdown tables: METRICS OUTPUT. They are printed, and written to OUTPUT/tables.md."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .records import WORKERS, Row, Table, bound, excess, gap, megabytes, read
from .rules import RULES
from .tasks import TASKS

GAPS = (0.3, 0.1, 0.03, 0.01)
"""Relative duality gaps that our rule is to reach."""
DISTANCES = (1.0, 0.1, 0.03)
"""Distances of the primal from the bound, in parts of it, that all rules are to reach."""
SCORED = (5, 10, 20)
"""Epochs after which all rules are scored."""
MISSING = "–"


def reached(rows: Sequence[Row], figure: Callable[[Row], float], target: float) -> Row | None:
    """The first measured row from which on the figure is at most the target."""
    found = None
    for row in reversed(rows):
        if figure(row) > target:
            break
        found = row
    return found


def epochs(rows: Sequence[Row], row: Row | None) -> str:
    """The epochs until this row; more than there are where it is None."""
    return f"> {rows[-1]['epoch']}" if row is None else str(row["epoch"])


def of_workers(task: str, table: Table) -> list[list[str]]:
    """Our rule with each number of workers: a line of cells each."""
    lines = []
    for k in WORKERS:
        if (run := f"momentum,{k}") not in table:
            continue
        rows = table[run]["rows"]
        at = [reached(rows, gap, target) for target in GAPS]
        last = rows[-1]
        cells = [TASKS[task].title, str(k), *(epochs(rows, row) for row in at)]
        cells += [f"{row['score']:.2f}" if row else MISSING for row in at]
        cells += [str(last["epoch"]), f"{last['primal']:,.2f}", f"{last['dual']:,.2f}", f"{last['score']:.2f}"]
        cells += [f"{last[way] / last['epoch'] / 1e6:.1f}" for way in ("up", "down")]
        lines.append(cells)
    return lines


def of_rules(task: str, n_blocks: int, table: Table) -> list[list[str]]:
    """All rules with one number of workers, if there are several: a line of cells each."""
    least, lines = bound(table), []
    for name, rule in RULES.items():
        if (run := f"{name},{n_blocks}") not in table:
            continue
        rows = table[run]["rows"]
        cells = [TASKS[task].title, str(n_blocks), rule.title]
        for target in DISTANCES:
            row = reached(rows, lambda row: excess(row, least), target)
            cells.append(epochs(rows, row) + (f" ({megabytes(row):,.0f})" if row else ""))
        scores = {row["epoch"]: f"{row['score']:.2f}" for row in rows}
        lines.append([*cells, *(scores.get(epoch, MISSING) for epoch in SCORED)])
    return lines if len(lines) > 1 else []


def table_of(header: Sequence[str], lines: Sequence[Sequence[str]], texts: Sequence[str]) -> str:
    """A table in Markdown; the columns named in `texts` are text, the others figures."""
    marks = ["---" if name in texts else "---:" for name in header]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, marks, *lines))


def main() -> None:
    metrics, output = map(Path, sys.argv[1:])
    tables = {task: table for task in TASKS if (table := read(metrics, task))}
    header = ["task", "workers", *(f"epochs to a gap of {target:.0%}" for target in GAPS)]
    header += [f"score at {target:.0%}" for target in GAPS]
    header += ["last epoch", "its primal", "dual", "score"]
    header += ["MB an epoch: sent", "got"]
    ours = table_of(header, [line for task, table in tables.items() for line in of_workers(task, table)], ["task"])
    header = [
        "task",
        "workers",
        "rule",
        *(f"epochs (MB) to a primal {target:.0%} above the bound" for target in DISTANCES),
    ]
    header += [f"score after {epoch} epochs" for epoch in SCORED]
    lines = [line for task, table in tables.items() for k in WORKERS[1:] for line in of_rules(task, k, table)]
    text = f"{ours}\n\n{table_of(header, lines, ['task', 'rule'])}\n"
    print(text)
    output.mkdir(parents=True, exist_ok=True)
    (output / "tables.md").write_text(text, "utf8")


if __name__ == "__main__":
    main()
