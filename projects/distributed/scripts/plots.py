"""Draw the records: METRICS OUTPUT. OUTPUT/workers.svg shows our rule, OUTPUT/rules-K.svg all rules with K workers."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from .records import WORKERS, Row, bound, excess, megabytes, read
from .rules import RULES
from .tasks import TASKS

MARKS = "os^Dv<>P"
PANELS = (("epochs", True), ("MB sent and got by all workers", True), ("epochs", False))
"""From top to bottom: what is on the x axis, and whether the objective is on the y axis, or else the score."""
MAX_DISTANCE, MAX_LOSS = 30.0, 3.0
"""What is further from the optimum, in parts of it, or from the best score, in points, is not shown."""
Curves = Mapping[str, Sequence[Row]]
"""The rows of each curve by its name."""


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


def main() -> None:
    metrics, output = map(Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    tables = {task: table for task in TASKS if (table := read(metrics, task))}
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


if __name__ == "__main__":
    main()
