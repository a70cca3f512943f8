"""Plots by matplotlib: figures in general, reliability diagrams, and learning curves with their tables."""

import importlib
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import srsly

from ..files import read_records
from ..training.calibration import Bin, expected_error
from .page import heading, paragraph, scrolling, table


def new_figure(width: float, height: float, layout: str = "constrained") -> Any:
    """An empty matplotlib Figure; width and height in inches, layout: the name of a layout engine.

    Raises:
        ImportError: matplotlib is not installed.
    """
    return importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), layout=layout)


def save_figure(figure: Any, target: Path | TextIO, salt: str) -> None:
    """Save a figure in the format of the file name's suffix, or to a stream as SVG.

    The same figure and salt give the same bytes of SVG: names in it are made from the salt.

    Raises:
        OSError: the file cannot be written.
        ValueError: matplotlib does not know the format.
    """
    is_svg = not isinstance(target, Path) or target.suffix == ".svg"
    with importlib.import_module("matplotlib").rc_context({"svg.hashsalt": salt}):
        figure.savefig(target, format="svg" if is_svg else None, metadata={"Date": None} if is_svg else None)


class Diagram(NamedTuple):
    """The reliability of a component before and after calibration.

    Attributes:
        beta_before: None for a component without probabilities, whose bins `before` are computed with β = 1.
        beta: the fitted β.
    """

    name: str
    beta_before: float | None
    beta: float
    before: Sequence[Bin]
    after: Sequence[Bin]


def save(diagrams: Sequence[Diagram], path: Path) -> None:
    """Save diagrams side by side, in the format of the file name's suffix.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
        ValueError: matplotlib does not know the format.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("the diagram needs matplotlib: pip install matplotlib") from error

    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 9}):
        figure = new_figure(3.6 * len(diagrams), 4.0, "compressed")
        for place, diagram in enumerate(diagrams, 1):
            axes = figure.add_subplot(1, len(diagrams), place)
            axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            for title, bins, mark in (("before", diagram.before, "s"), ("calibrated", diagram.after, "o")):
                filled = [bin for bin in bins if bin.n_items]
                means, shares = [bin.mean for bin in filled], [bin.right for bin in filled]
                axes.plot(means, shares, marker=mark, label=f"{title}, ECE {expected_error(bins):.3f}")
            axes.set(title=diagram.name, xlabel="mean probability", ylabel="share that is right", aspect="equal")
            axes.grid(alpha=0.3)
            axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path, "reliability")


CURVES = {"primal": "primal, estimated", "dual": "dual"}
Point = tuple[dict[str, Any], dict[str, Any]]
"""A row of the log, and a component's figures in it."""


def log_rows(log: Path) -> list[dict[str, Any]]:
    """The rows of an output file of "spacy-ssvm.ConsoleLogger.v1".

    Raises:
        ValueError: the file is not an output file of this logger.
    """
    try:
        rows = [dict(row) for _, row in read_records(log, srsly.json_loads)]
        if rows and all({"epoch", "score", "losses", "figures"} <= set(row) for row in rows):
            return rows
    except (TypeError, ValueError):
        pass
    raise ValueError(f'{log} is no output_file of the logger "spacy-ssvm.ConsoleLogger.v1"')


def learning_curve(rows: Sequence[dict[str, Any]], name: str) -> list[str]:
    """The parts of a page that show how a component has learnt; none if the log does not have it."""
    points = [(row, row["figures"][name]) for row in rows if row["figures"].get(name)]
    if not points:
        return []
    cells = [
        (
            figures["epoch"],
            f"{figures['loss']:,.0f}",
            *(_shown(figures[key]) for key in CURVES),
            _gap(row, figures, name),
            f"{figures['non_zeros']:,}",
            f"{100 * row['score']:.2f}",
        )
        for row, figures in points
    ]
    header = ("Epoch", "Loss", "Primal~", "Dual", "Relative gap", "Non-zero weights", "Score")
    note = (
        "The score is the pipeline's score on the development corpus during training. Primal~ and gaps marked ~ are "
        "running estimates, summed while the weights change; the other gaps are certificates at fixed weights."
    )
    plots = [_plotted(points, draw, name) for draw in (_draw_scores, _draw_objectives)]
    return [
        heading("Learning curve", 3),
        *dict.fromkeys(plots),
        scrolling(table(header, cells, 0), note),
        paragraph(note),
    ]


def _gap(row: dict[str, Any], figures: dict[str, Any], name: str) -> str:
    certificate = row.get("certificates", {}).get(name)
    primal, dual = (certificate or figures)["primal"], (certificate or figures)["dual"]
    if primal is None or dual is None:
        return "-"
    return f"{(primal - dual) / primal if primal else 0.0:.2e}{'' if certificate else ' ~'}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _plotted(points: Sequence[Point], draw: Callable[[Sequence[Point], Any], None], name: str) -> str:
    """A drawing by matplotlib as SVG, or, without matplotlib, a line that says so. name: of the component."""
    try:
        figure = new_figure(4.4, 3.0)
    except ImportError:
        return paragraph("No plot: matplotlib is not installed; to get one, run pip install matplotlib.")
    axes = figure.subplots()
    draw(points, axes)
    axes.set(xlabel="epoch")
    axes.grid(alpha=0.3)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if not axes.lines:
        return ""
    target = io.StringIO()
    with importlib.import_module("matplotlib").rc_context({"svg.fonttype": "none"}):
        save_figure(figure, target, f"{name} {draw.__name__}")
    # The names of groups are those of all figures, and nothing refers to them.
    svg = re.sub(r'<g id="[^"]*">', "<g>", target.getvalue()[target.getvalue().index("<svg") :])
    return f'<div class="plot">{svg}</div>'


def _draw_scores(points: Sequence[Point], axes: Any) -> None:
    epochs = [figures["epoch"] for _, figures in points]
    axes.plot(epochs, [100 * row["score"] for row, _ in points], marker="o", markersize=3)
    axes.set(ylabel="development score")


def _draw_objectives(points: Sequence[Point], axes: Any) -> None:
    for key, label in CURVES.items():
        known = [(figures["epoch"], figures[key]) for _, figures in points if figures[key] is not None]
        if known:
            axes.plot(*zip(*known), marker="o", markersize=3, label=label)
    if axes.lines:
        axes.legend()
        axes.set(ylabel="objective", yscale="log")
