"""Print the records as Markdown tables: METRICS."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .records import Row, bound, excess, gap, megabytes, read
from .rules import RULES
from .tasks import TASKS

WORKERS = (1, 2, 4, 8)
GAPS = (1e-1, 1e-2, 1e-3)
"""Relative duality gaps that our rule is to reach."""
DISTANCES = (1.0, 1e-1, 1e-2)
"""Distances of the primal from its optimum that all rules are to reach."""


def reached(rows: Sequence[Row], figure: Callable[[Row], float], target: float) -> Row | None:
    """The first measured row whose figure is at most the target, and stays so."""
    found = None
    for row in reversed(rows):
        if figure(row) > target:
            break
        found = row
    return found


def epochs(rows: Sequence[Row], row: Row | None) -> str:
    """Until this row; where it is None, not in all of them."""
    return f"> {rows[-1]['epoch']}" if row is None else str(row["epoch"])


def of_workers(task: str, metrics: Path) -> list[list[str]]:
    """Our rule with each number of workers: a line of cells each."""
    table = read(metrics, task)
    lines, alone = [], table["search,1"]["rows"]
    for k in WORKERS:
        if (run := f"search,{k}") not in table:
            continue
        rows = table[run]["rows"]
        at = {target: reached(rows, gap, target) for target in GAPS}
        equal = max((g for g in GAPS if at[g] and reached(alone, gap, g)), default=None)
        cells = [TASKS[task].title, str(k), *(epochs(rows, at[target]) for target in GAPS)]
        last = rows[-1]
        cells += [f"{gap(last):.1e}", f"{last['primal']:,.2f}", f"{last['dual']:,.2f}", f"{last['score']:.2f}"]
        cells += [f"{last[way] / last['epoch'] / 1e6:,.1f}" for way in ("up", "down")]
        lines.append(cells)
    return lines


def of_rules(task: str, n_blocks: int, metrics: Path) -> list[list[str]]:
    """All rules with one number of workers: a line of cells each."""
    table = read(metrics, task)
    least, lines = bound(table), []
    for name, rule in RULES.items():
        if (run := f"{name},{n_blocks}") not in table:
            continue
        rows = table[run]["rows"]
        cells = [TASKS[task].title, str(n_blocks), rule.title]
        for target in DISTANCES:
            row = reached(rows, lambda row: excess(row, least), target)
            cells.append(epochs(rows, row) + ("" if row is None else f" ({megabytes(row):,.0f})"))
        cells += [f"{row['score']:.2f}" for epoch in (5, 10, 20) for row in rows if row["epoch"] == epoch]
        lines.append(cells)
    return lines


def printed(header: Sequence[str], lines: Sequence[Sequence[str]], n_texts: int) -> None:
    """Print a table whose first columns are text."""
    marks = ["---" if column < n_texts else "---:" for column in range(len(header))]
    for line in (header, marks, *lines):
        print(f"| {' | '.join(line)} |")
    print()


def main() -> None:
    metrics = Path(sys.argv[1])
    tasks = [task for task in TASKS if read(metrics, task)]
    header = ["task", "workers", *(f"epochs to gap {target:g}" for target in GAPS), "last gap", "primal", "dual", "score"]
    header += ["MB an epoch sent", "and got"]
    printed(header, [line for task in tasks for line in of_workers(task, metrics)], 1)
    header = ["task", "workers", "rule", *(f"epochs (MB) to {target:g} above the optimum" for target in DISTANCES)]
    header += [f"score after {epoch} epochs" for epoch in (5, 10, 20)]
    printed(header, [line for task in tasks for k in WORKERS[1:] for line in of_rules(task, k, metrics)], 3)


if __name__ == "__main__":
    main()
