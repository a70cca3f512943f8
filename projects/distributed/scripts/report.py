"""The records as plots and as tables in Markdown: METRICS OUTPUT.

OUTPUT/workers.svg shows our rule, OUTPUT/rules-K.svg all rules with K workers; OUTPUT/tables.md has the figures.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

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
MARKS = "os^Dv<>P"
PANELS = (("epochs", True), ("MB sent and got by all workers", True), ("epochs", False))
"""From top to bottom: what is on the x axis, and whether the objective is on the y axis, or else the score."""
MAX_DISTANCE, MAX_LOSS = 30.0, 3.0
"""What is further from the optimum, in parts of it, or from the best score, in points, is not shown."""
Curves = Mapping[str, Sequence[Row]]
"""The rows of each curve by its name."""


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


def draw(path: Path, curves: Mapping[str, Curves], bounds: Mapping[str, float]) -> None:
    """An SVG with a column for each task: the distance from the optimum by epochs and by bytes, and the score."""
    # The same figures are to be the same bytes.
    style: dict[str, Any] = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 9}
    names = list(dict.fromkeys(name for of_task in curves.values() for name in of_task))
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(4.2 * len(curves), 3.0 * len(PANELS) + 0.6), layout="constrained")
        grid = figure.subplots(len(PANELS), len(curves), squeeze=False)
        for column, (task, of_task) in zip(grid.T, curves.items()):
            column[0].set_title(TASKS[task].title)
            best = max(row["score"] for rows in of_task.values() for row in rows)
            for axes, (x, is_objective) in zip(column, PANELS):
                for name, rows in of_task.items():
                    place = names.index(name)
                    axes.plot(
                        [row["epoch"] if x == "epochs" else megabytes(row) for row in rows],
                        [excess(row, bounds[task]) if is_objective else row["score"] for row in rows],
                        label=name,
                        color=f"C{place}",
                        marker=MARKS[place],
                        markersize=3,
                        linewidth=1.2,
                    )
                axes.set_xlabel(x)
                axes.set_xscale("log")
                axes.xaxis.set_minor_formatter(NullFormatter())
                if is_objective:
                    axes.set(ylabel="(primal − bound) / bound", yscale="log")
                    axes.set_ylim(top=MAX_DISTANCE)
                else:
                    axes.set(ylabel=f"{TASKS[task].unit} on dev, %", ylim=(best - MAX_LOSS, best + MAX_LOSS / 10))
                axes.grid(alpha=0.3)
        shown = {name: line for axes in grid[0] for line, name in zip(*axes.get_legend_handles_labels())}
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=1 + len(curves), fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def write_plots(tables: Mapping[str, Table], output: Path) -> None:
    """Our rule by the number of workers, and all rules with one number of them."""
    bounds = {task: bound(table) for task, table in tables.items()}
    ours = {
        task: {f"K = {k}": table[run]["rows"] for k in WORKERS if (run := f"momentum,{k}") in table}
        for task, table in tables.items()
    }
    draw(output / "workers.svg", ours, bounds)
    for k in WORKERS[1:]:
        found = {
            task: {rule.title: table[run]["rows"] for name, rule in RULES.items() if (run := f"{name},{k}") in table}
            for task, table in tables.items()
        }
        compared = {task: curves for task, curves in found.items() if len(curves) > 1}
        if compared:
            draw(output / f"rules-{k}.svg", compared, bounds)


def write_tables(tables: Mapping[str, Table], output: Path) -> None:
    """The same as tables."""
    header = ["task", "workers", *(f"epochs to a gap of {target:.0%}" for target in GAPS)]
    header += [f"score at {target:.0%}" for target in GAPS]
    header += ["last epoch", "its primal", "dual", "score"]
    header += ["MB an epoch: sent", "got"]
    ours = table_of(header, [line for task, table in tables.items() for line in of_workers(task, table)], ["task"])
    header = ["task", "workers", "rule"]
    header += [f"epochs (MB) to a primal {target:.0%} above the bound" for target in DISTANCES]
    header += [f"score after {epoch} epochs" for epoch in SCORED]
    lines = [line for task, table in tables.items() for k in WORKERS[1:] for line in of_rules(task, k, table)]
    (output / "tables.md").write_text(f"{ours}\n\n{table_of(header, lines, ['task', 'rule'])}\n", "utf8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    tables = {task: table for task in TASKS if (table := read(given.metrics, task))}
    write_plots(tables, given.output)
    write_tables(tables, given.output)


if __name__ == "__main__":
    main()
