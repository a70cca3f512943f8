"""Draw the records: METRICS OUTPUT. OUTPUT/workers.svg shows our rule, OUTPUT/rules-K.svg all rules with K workers."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure

from .records import WORKERS, Row, bound, excess, megabytes, read
from .rules import RULES
from .tasks import TASKS

MARKS = "os^Dv<>"
DISTANCE = "primal above its optimum (at most)"
Curves = Mapping[str, Sequence[Row]]
"""The rows of each curve by its name."""


def draw(path: Path, curves: Mapping[str, Curves], bounds: Mapping[str, float]) -> None:
    """An SVG with a column for each task: the distance from the optimum by epochs and by bytes, and the score."""
    kinds: list[tuple[str, Callable[[Row], float], str, bool]] = [
        ("epochs", lambda row: float(row["epoch"]), DISTANCE, False),
        ("MB sent and got by all workers", megabytes, DISTANCE, True),
        ("epochs", lambda row: float(row["epoch"]), "", False),
    ]
    # The same figures are to be the same bytes.
    style: dict[str, Any] = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(4.2 * len(curves), 3.0 * len(kinds) + 0.6), layout="constrained")
        panels = figure.subplots(len(kinds), len(curves), squeeze=False)
        names = list(dict.fromkeys(name for found in curves.values() for name in found))
        for column, (task, found) in enumerate(curves.items()):
            least, unit = bounds[task], TASKS[task].unit
            for axes, (x_label, x, y_label, is_logarithmic) in zip(panels[:, column], kinds):
                for name, rows in found.items():
                    place = names.index(name)
                    y = [excess(row, least) if y_label else row["score"] for row in rows]
                    axes.plot(
                        [x(row) for row in rows],
                        y,
                        label=name,
                        color=f"C{place}",
                        marker=MARKS[place],
                        markersize=3,
                        linewidth=1.2,
                    )
                axes.set(xlabel=x_label, ylabel=y_label or f"{unit} on the development part, %")
                axes.set_xscale("log" if is_logarithmic else "linear")
                if y_label:
                    axes.set_yscale("log")
                    axes.set_ylim(top=30.0)
                else:
                    best = max(row["score"] for rows in found.values() for row in rows)
                    axes.set_ylim(best - 4.0, best + 0.3)
                axes.grid(alpha=0.3)
            panels[0, column].set_title(TASKS[task].title)
        handles = {label: handle for axes in panels[0] for handle, label in zip(*axes.get_legend_handles_labels())}
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    metrics, output = map(Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    tables = {task: table for task in TASKS if (table := read(metrics, task))}
    bounds = {task: bound(table) for task, table in tables.items()}
    ours = {
        task: {f"K = {k}": table[run]["rows"] for k in WORKERS if (run := f"search,{k}") in table}
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
