"""Reliability diagrams as a plot: the share that is right against the probability, before and after."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..training.calibration import Bin, expected_error
from .plots import new_figure, save_figure


class Diagram(NamedTuple):
    """The reliability of a component before and after calibration.

    beta_before: None for a component without probabilities, whose bins `before` are those of β = 1. beta: as fitted.
    """

    name: str
    beta_before: float | None
    beta: float
    before: Sequence[Bin]
    after: Sequence[Bin]


def save(diagrams: Sequence[Diagram], path: Path) -> None:
    """Diagrams side by side, in the format that the file's name says; an SVG is the same bytes for the same figures.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
        ValueError: it is no format that matplotlib knows.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('the diagram needs matplotlib: pip install "spacy-ssvm[calibration]"') from error

    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 9}):
        figure = new_figure(3.6 * len(diagrams), 4.0, "compressed")
        for place, one in enumerate(diagrams, 1):
            axes = figure.add_subplot(1, len(diagrams), place)
            axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            for title, bins, mark in (("before", one.before, "s"), ("calibrated", one.after, "o")):
                filled = [bin for bin in bins if bin.n_items]
                means, shares = [bin.mean for bin in filled], [bin.right for bin in filled]
                axes.plot(means, shares, marker=mark, label=f"{title}, ECE {expected_error(bins):.3f}")
            axes.set(title=one.name, xlabel="mean probability", ylabel="share that is right", aspect="equal")
            axes.grid(alpha=0.3)
            axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path, "reliability")
