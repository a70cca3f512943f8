"""A page that grows: Markdown, with plots beside it."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.style
from matplotlib.figure import Figure

MISSING = "–"
MARKS = "os^Dv<>Px*"


class Curve(NamedTuple):
    """One line of a panel: a name, and the places of its points; where `marked`, each has a marker."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    marked: bool = True


class Panel(NamedTuple):
    """One set of axes. log: the names of the axes, "x" or "y" or both, that are logarithmic."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log: str = ""
    y_range: tuple[float, float] | None = None


def _style(name: str) -> dict[str, Any]:
    """What makes the same figures the same bytes."""
    return {"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 9}


class Page:
    """The page so far, `name`.md. Plots go to `folder`/plots."""

    MISSING = MISSING

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.blocks: list[str] = []

    def heading(self, text: str, level: int = 2) -> None:
        self.blocks.append(f"{'#' * level} {text}")

    def text(self, text: str) -> None:
        self.blocks.append(text)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> None:
        """A table whose first `texts` columns are text, the others figures; None is a hole."""
        marks = ["---" if column < texts else "---:" for column in range(len(header))]
        lines = [header, marks, *([MISSING if cell is None else str(cell) for cell in row] for row in rows)]
        self.blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def claim(self, claim: str, holds: bool | None, evidence: str) -> None:
        """A claim of the paper, and what our figures say of it; None where they do not decide."""
        verdict = {True: "Confirmed", False: "Not confirmed", None: "Open"}[holds]
        reason = f"{evidence.rstrip('.')}." if evidence else "not measured yet."
        self.blocks.append(f"- **{claim}** {verdict}: {reason}")

    def plot(self, name: str, caption: str, panels: Sequence[Panel], columns: int = 3) -> None:
        """Panels side by side, as an SVG; those without curves are left out."""
        panels = [panel for panel in panels if panel.curves]
        if not panels:
            return
        columns = min(columns, len(panels))
        lines = -(-len(panels) // columns)
        with matplotlib.rc_context(_style(name)):
            figure = Figure(figsize=(4.2 * columns, 3.2 * lines), layout="constrained")
            for place, panel in enumerate(panels, 1):
                axes = figure.add_subplot(lines, columns, place)
                for mark, curve in zip(MARKS * 2, panel.curves):
                    axes.plot(
                        curve.x, curve.y, label=curve.name, linewidth=1.2, markersize=3, marker=mark * curve.marked
                    )
                axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
                axes.set_xscale("log" if "x" in panel.log else "linear")
                axes.set_yscale("log" if "y" in panel.log else "linear")
                if panel.y_range is not None:
                    axes.set_ylim(*panel.y_range)
                axes.grid(alpha=0.3)
                axes.legend(fontsize=7)
            self._add(figure, name, caption)

    def bars(self, name: str, caption: str, rows: Mapping[str, Mapping[str, float]], parts: Sequence[str]) -> None:
        """A bar for each row, made of its parts one after the other, as an SVG."""
        with matplotlib.rc_context(_style(name)):
            figure = Figure(figsize=(8.4, 0.8 + 0.6 * len(rows)), layout="constrained")
            axes = figure.add_subplot()
            end = dict.fromkeys(rows, 0.0)
            for part in parts:
                widths = [max(row[part], 0.0) for row in rows.values()]
                axes.barh(list(rows), widths, left=list(end.values()), label=part)
                end = {row: start + width for (row, start), width in zip(end.items(), widths)}
            axes.invert_yaxis()
            axes.legend(fontsize=7, ncols=len(parts), loc="lower center", bbox_to_anchor=(0.5, 1.0))
            self._add(figure, name, caption)

    def figure(self, name: str, caption: str, draw: Callable[[], Figure]) -> None:
        """What a function draws, as an SVG."""
        with matplotlib.rc_context(_style(name)):
            self._add(draw(), name, caption)

    def _add(self, figure: Figure, name: str, caption: str) -> None:
        folder = self.folder / "plots"
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        self.blocks.append(f"![{caption}](plots/{name}.svg)\n\n*{caption}*")

    def write(self) -> None:
        """Write the page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join(self.blocks)
        text = re.sub(r"(?<=\n)(- .*)\n\n(?=- )", r"\1\n", text) + "\n"
        (self.folder / f"{self.name}.md").write_text(text, encoding="utf8")
