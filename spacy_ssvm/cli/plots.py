"""Plots, for which matplotlib has to be installed."""

import importlib
from pathlib import Path
from typing import Any, TextIO


def new_figure(width: float, height: float, layout: str = "constrained") -> Any:
    """An empty matplotlib Figure of so many inches, whose parts one of its layout engines places.

    Raises:
        ImportError: matplotlib is not installed.
    """
    return importlib.import_module("matplotlib.figure").Figure(figsize=(width, height), layout=layout)


def save_figure(figure: Any, target: Path | TextIO, salt: str) -> None:
    """Save in the format that the file's name says, or to a stream as SVG.

    An SVG is the same bytes for the same figure and salt, from which the names in it are made.

    Raises:
        OSError: the file cannot be written.
        ValueError: it is no format that matplotlib knows.
    """
    is_svg = not isinstance(target, Path) or target.suffix == ".svg"
    with importlib.import_module("matplotlib").rc_context({"svg.hashsalt": salt}):
        figure.savefig(target, format="svg" if is_svg else None, metadata={"Date": None} if is_svg else None)
