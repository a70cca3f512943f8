"""The logger "spacy-ssvm.ConsoleLogger.v1": spaCy's training table with the solvers' figures in it.

spaCy imports all loggers whenever it makes a pipeline: components are imported when a training begins.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import srsly
from spacy.language import Language
from spacy.training.loggers import setup_table
from spacy.training.loop import DIR_MODEL_BEST
from spacy.util import resolve_dot_names
from wasabi import Printer

from .. import memory

if TYPE_CHECKING:
    from ..solvers.learner import Certificate
    from ..training.trainer import Figures

FIGURES = {"Prim~": "primal", "Dual": "dual", "Planes": "planes", "Non-0": "non_zeros"}
"""Columns after the loss of each component of ours, and the fields of `Figures` of its last complete epoch. "~" marks a
running estimate."""

MAX_WITH_FIGURES = 2
"""Components of ours whose figures fit on a screen side by side; of more, the table has the losses only."""

Log = Callable[[dict[str, Any] | None], None]


def console_logger(
    output_file: str | Path | None = None, certificate_frequency: int = 0, compress: bool = False
) -> Callable[..., tuple[Log, Callable[[], None]]]:
    """Print a row for each evaluation; at the end, and at checkpoints, the certificates; at the end the peak memory.

    Args:
        output_file: a JSONL file that gets the scores, the seconds and the figures of all components, one object a row;
            it is overwritten.
        certificate_frequency: the number of rows per checkpoint, which takes a pass over all oracles; 0: the end only.
        compress: whether the best pipeline is saved, when training has ended, with as few bits as cost nothing on the
            development corpus; see `compress_pipeline`. The last one is not compressed, but for the sake of memory its
            components are as if loaded from then on: solvers whose state is not to be saved forget their examples.

    Raises:
        ValueError: certificate_frequency is negative.
    """
    if certificate_frequency < 0:
        raise ValueError(f"training.logger.certificate_frequency must not be negative, not {certificate_frequency}")

    def setup(
        nlp: Language, stdout: IO[str] = sys.stdout, stderr: IO[str] = sys.stderr
    ) -> tuple[Log, Callable[[], None]]:
        from .component import SsvmPipe

        message = Printer(no_print=True)
        pipes: dict[str, Any] = {name: pipe for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False)}
        weights = nlp.config["training"]["score_weights"]
        scores = [name for name, weight in weights.items() if weight is not None]
        ours = [name for name, pipe in pipes.items() if isinstance(pipe, SsvmPipe)]
        detailed = ours if len(ours) <= MAX_WITH_FIGURES else []
        columns = ["E", "#"]
        for name in pipes:
            columns += [f"Loss {name}", *(title for title in FIGURES if name in detailed)]
        columns += [*scores, "Score"]
        header, widths, _ = setup_table(cols=columns, widths=[3, 6, *(6 for _ in columns[2:])], max_width=14)
        rows: list[dict[str, Any]] = []
        printed, best = 0, Path()

        def write(text: str) -> None:
            print(text, file=stdout, flush=True)

        write(message.row(header, widths=widths, aligns=["r"] * len(header), spacing=2))
        write(message.row(["-" * width for width in widths], spacing=2))

        def write_certificates() -> dict[str, dict[str, float] | None]:
            certificates = {name: pipes[name].certificate() for name in ours}
            for name, certificate in certificates.items():
                write(f"{name}: {_certified(certificate, pipes[name].figures)}")
            return {name: None if found is None else found._asdict() for name, found in certificates.items()}

        def write_choices() -> None:
            from .compression import compress_pipeline

            # The best pipeline is loaded beside this one.
            for name in ours:
                pipes[name].trained = pipes[name].trained.ended()
            memory.release()
            config = nlp.config.interpolate()
            (dev_corpus,) = resolve_dot_names(config, [config["training"]["dev_corpus"]])
            for line in compress_pipeline(best, dev_corpus, config["training"]["score_weights"]):
                write(line)

        def log_step(info: dict[str, Any] | None) -> None:
            nonlocal printed, best
            if info is None:
                return
            if "output_path" in info:
                best = Path(info["output_path"]).with_name(DIR_MODEL_BEST)
            row = [info["epoch"], info["step"]]
            for name, pipe in pipes.items():
                row.append(_short(info["losses"].get(name, 0.0)))
                if name in detailed:
                    row += [_short(getattr(pipe.figures, field, None)) for field in FIGURES.values()]
            row += [_score(info["other_scores"], name) for name in scores]
            row.append(f"{info['score']:.4f}")
            write(message.row(row, widths=widths, aligns=["r"] * len(row), spacing=2))
            printed += 1
            at_checkpoint = certificate_frequency > 0 and printed % certificate_frequency == 0
            certificates = write_certificates() if at_checkpoint else None
            if output_file is not None:
                rows.append(_record(info, {name: pipes[name].figures for name in ours}))
                if certificates is not None:
                    rows[-1]["certificates"] = certificates
                srsly.write_jsonl(output_file, rows)

        def finalize() -> None:
            write_certificates()
            # A training that has failed leaves its files as they are.
            if compress and best.name and sys.exc_info()[0] is None:
                write_choices()
            if (peak := memory.peak()) is not None:
                write(f"Peak memory: {peak / 1e6:,.0f} MB")

        return log_step, finalize

    return setup


def _certified(certificate: "Certificate | None", figures: "Figures | None") -> str:
    if certificate is not None:
        objectives = f"primal {certificate.primal:,.4f}, dual {certificate.dual:,.4f}"
        return f"{objectives}, relative gap {certificate.relative_gap:.2e}"
    if figures is not None and figures.dual is not None and figures.outside is not None:
        known = f"primal -, dual {figures.dual:,.4f}, gap -"
        return f"{known} (largest violation found outside the working sets {figures.outside:.2e}: no gap)"
    return "primal -, dual -, gap -"


def _short(value: float | None) -> str:
    """Four characters and a unit at most, so that a table of two components fits on a screen."""
    if value is None:
        return "-"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:#.3g}".rstrip(".") + unit
    return f"{value:#.3g}".rstrip(".")


def _score(scores: dict[str, Any], name: str) -> str:
    value = scores.get(name)
    if value is None:
        return "-"
    return f"{value:,.0f}" if name == "speed" else f"{100 * float(value):.2f}"


def _record(info: dict[str, Any], figures: "dict[str, Figures | None]") -> dict[str, Any]:
    record = {key: info[key] for key in ("epoch", "step", "seconds", "score", "losses", "other_scores")}
    record["figures"] = {name: None if values is None else values._asdict() for name, values in figures.items()}
    return record
