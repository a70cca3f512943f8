"""Plots by matplotlib: figures in general, and reliability diagrams."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..training.calibration import Bin, expected_error


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
