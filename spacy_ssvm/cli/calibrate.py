"""`spacy ssvm calibrate`: fits one temperature per component, so that scores are probabilities."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.training import Example
from wasabi import msg

from ..pipeline.component import SsvmPipe
from ..training.calibration import N_BINS, Bin, expected_error, reliability
from .pipelines import CodePath, PipelineName, annotate_before, dev_reader, load_pipeline
from .plots import Diagram, save

Reader = Callable[[Language], Iterable[Example]]


def calibrate_command(
    model: PipelineName,
    data_path: Annotated[Path, typer.Argument(help="Corpus in .spacy format, not used in training", exists=True)],
    output: Annotated[Path, typer.Argument(help="Folder for the calibrated pipeline")],
    components: Annotated[
        list[str] | None, typer.Option("--component", "-n", help="Component to calibrate, all by default; repeatable")
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option("--held-out", "-e", help="Corpus to measure on, the same one by default", exists=True)
    ] = None,
    plot_path: Annotated[
        Path | None, typer.Option("--diagram", "-d", help="File for the reliability diagrams, such as reliability.svg")
    ] = None,
    code_path: CodePath = None,
) -> None:
    """Fit one temperature to each spacy-ssvm component, and save the calibrated pipeline.

    Corpora are read with the settings of the pipeline's training.dev_corpus. Predictions do not change.
    """
    nlp, pipes = load_pipeline(model, code_path, output)
    unknown = sorted(set(components or ()) - set(pipes))
    if unknown:
        msg.fail(f"{model} has no spacy-ssvm component {', '.join(unknown)}", exits=1)
    try:
        corpora = dev_reader(nlp, data_path), dev_reader(nlp, held_out or data_path)
        diagrams = [_calibrate(nlp, pipes[name], *corpora) for name in components or pipes]
        header = ("Component", "β before", "β after", "Items", "ECE before", "ECE after")
        msg.table(
            [_summary(diagram) for diagram in diagrams],
            header=header,
            aligns=("l", *"r" * (len(header) - 1)),
            divider=True,
        )
        nlp.to_disk(output)
        msg.good(f"Saved to {output}")
        if plot_path is not None:
            save(diagrams, plot_path)
            msg.good(f"Saved the diagram to {plot_path}")
    except (ImportError, OSError, ValueError) as error:
        msg.fail(str(error), exits=1)


def _calibrate(nlp: Language, pipe: SsvmPipe, corpus: Reader, held_out: Reader) -> Diagram:
    """Calibrate a component on one corpus, and print its reliability on the other."""
    beta_before = pipe.inverse_temperature
    fitted = pipe.calibrate(annotate_before(nlp, pipe.name, corpus(nlp)))
    examples = pipe.calibration_examples(annotate_before(nlp, pipe.name, held_out(nlp)))
    try:
        before = reliability(examples, 1.0 if beta_before is None else beta_before, fitted.beta)
    except ValueError:  # uncalibrated scores can be too large for sums
        before = reliability([], 1.0, fitted.beta)
    after = reliability(examples, fitted.beta, fitted.beta)
    if not any(bin.n_items for bin in after):
        raise ValueError(f"[{pipe.name}] there is nothing to measure the calibration on: no gold annotation")
    msg.divider(f"Component {pipe.name}")
    msg.info(
        f"Fitted to {fitted.used:,} sequences or trees; left out: {fitted.unannotated:,} without gold annotation, "
        f"{fitted.impossible:,} whose gold analysis the component cannot produce"
    )
    if beta_before is None:
        msg.info("Before calibration the scores were margins; the left half shows P(y) ∝ exp(wᵀΦ), with β = 1")
    header = (
        "Probability",
        *(f"{title} {when}" for when in ("before", "after") for title in ("Items", "Mean", "Right")),
    )
    msg.table(_rows(before, after), header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)
    return Diagram(pipe.name, beta_before, fitted.beta, before, after)


def _summary(diagram: Diagram) -> tuple[str, ...]:
    before = "-" if diagram.beta_before is None else f"{diagram.beta_before:.4g}"
    errors = [f"{expected_error(bins):.4f}" for bins in (diagram.before, diagram.after)]
    return diagram.name, before, f"{diagram.beta:.4g}", f"{sum(bin.n_items for bin in diagram.after):,}", *errors


def _rows(before: Sequence[Bin], after: Sequence[Bin]) -> list[tuple[str, ...]]:
    return [
        (f"{left.low:.1f} to {left.low + 1 / N_BINS:.1f}", *_cells(left), *_cells(right))
        for left, right in zip(before, after)
    ]


def _cells(bin: Bin) -> tuple[str, str, str]:
    return (f"{bin.n_items:,}", f"{bin.mean:.3f}", f"{bin.right:.3f}") if bin.n_items else ("0", "-", "-")
