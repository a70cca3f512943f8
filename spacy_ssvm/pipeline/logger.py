"""The logger "spacy-ssvm.ConsoleLogger.v1": spaCy's training table with the solvers' figures in it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import srsly
from spacy.language import Language
from spacy.training.loggers import setup_table
from wasabi import Printer

from .component import SsvmPipe
from .figures import Figures

FIGURES: dict[str, Callable[[Figures], str]] = {
    "Primal~": lambda figures: _number(figures.primal),
    "Dual": lambda figures: _number(figures.dual),
    "Planes": lambda figures: _count(figures.planes),
    "Non-0": lambda figures: _count(figures.non_zeros),
}
"""Columns for each component of ours: figures of its last complete epoch. "~" marks a running estimate."""

Log = Callable[[dict[str, Any] | None], None]


def console_logger(output_file: str | Path | None = None) -> Callable[..., tuple[Log, Callable[[], None]]]:
    """Print a row for each evaluation; at the end the certificates.

    output_file: a JSONL file that gets the same and the seconds, one object a row; it is overwritten.
    """

    def setup(
        nlp: Language, stdout: IO[str] = sys.stdout, stderr: IO[str] = sys.stderr
    ) -> tuple[Log, Callable[[], None]]:
        message = Printer(no_print=True)
        pipes: dict[str, Any] = {name: pipe for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False)}
        weights = nlp.config["training"]["score_weights"]
        scores = [name for name, weight in weights.items() if weight is not None]
        ours = [name for name, pipe in pipes.items() if isinstance(pipe, SsvmPipe)]
        columns = ["E", "#"]
        for name in pipes:
            columns += [f"Loss {name}", *(f"{title} {name}" for title in FIGURES if name in ours)]
        columns += [*scores, "Score"]
        header, widths, _ = setup_table(cols=columns, widths=[3, 6, *(10 for _ in columns[2:])], max_width=16)
        rows: list[dict[str, Any]] = []

        def write(text: str) -> None:
            print(text, file=stdout, flush=True)

        write(message.row(header, widths=widths, aligns=["r"] * len(header), spacing=2))
        write(message.row(["-" * width for width in widths], spacing=2))

        def log_step(info: dict[str, Any] | None) -> None:
            if info is None:
                return
            row = [info["epoch"], info["step"]]
            for name, pipe in pipes.items():
                row.append(f"{info['losses'].get(name, 0.0):,.2f}")
                if name in ours:
                    row += ["-" if pipe.figures is None else show(pipe.figures) for show in FIGURES.values()]
            row += [_score(info["other_scores"], name) for name in scores]
            row.append(f"{info['score']:.4f}")
            write(message.row(row, widths=widths, aligns=["r"] * len(row), spacing=2))
            if output_file is not None:
                rows.append(_record(info, {name: pipes[name].figures for name in ours}))
                srsly.write_jsonl(output_file, rows)

        def finalize() -> None:
            for name in ours:
                certificate = pipes[name].certificate()
                if certificate is not None:
                    write(
                        f"{name}: primal {certificate.primal:,.4f}, dual {certificate.dual:,.4f}, "
                        f"relative gap {certificate.relative_gap:.2e}"
                    )

        return log_step, finalize

    return setup


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _score(scores: dict[str, Any], name: str) -> str:
    value = scores.get(name)
    if value is None:
        return "-"
    return f"{value:,.0f}" if name == "speed" else f"{100 * float(value):.2f}"


def _record(info: dict[str, Any], figures: dict[str, Figures | None]) -> dict[str, Any]:
    record = {key: info[key] for key in ("epoch", "step", "seconds", "score", "losses", "other_scores")}
    record["figures"] = {name: None if values is None else values._asdict() for name, values in figures.items()}
    return record
