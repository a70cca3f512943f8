"""`spacy ssvm calibrate`: a trained pipeline whose scores are probabilities, with one temperature a component."""

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
    data_path: Annotated[Path, typer.Argument(help="Corpus in .spacy format, not that of training", exists=True)],
    output: Annotated[Path, typer.Argument(help="Folder for the calibrated pipeline")],
    components: Annotated[
        list[str] | None, typer.Option("--component", "-n", help="Component to calibrate, by default all; repeatable")
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option("--held-out", "-e", help="Corpus to measure on, by default the same one", exists=True)
    ] = None,
    diagram: Annotated[
        Path | None, typer.Option("--diagram", "-d", help="File for the plot, such as reliability.svg")
    ] = None,
    code_path: CodePath = None,
) -> None:
    """Fit one temperature to each spacy-ssvm component, and save the pipeline with it.

    The corpora are read as that of the pipeline's training.dev_corpus is. Predictions stay what they are.
    """
    nlp, pipes = load_pipeline(model, code_path, output)
    unknown = sorted(set(components or ()) - set(pipes))
    if unknown:
        msg.fail(f"{model} has no spacy-ssvm component {', '.join(unknown)}", exits=1)
    try:
        corpora = dev_reader(nlp, data_path), dev_reader(nlp, held_out or data_path)
        found = [_calibrated(nlp, pipes[name], *corpora) for name in components or pipes]
        header = ("Component", "β before", "β", "Items", "ECE before", "ECE")
        msg.table([_summary(one) for one in found], header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)
        nlp.to_disk(output)
        msg.good(f"Saved to {output}")
        if diagram is not None:
            save(found, diagram)
            msg.good(f"Saved the diagram to {diagram}")
    except (ImportError, OSError, ValueError) as error:
        msg.fail(str(error), exits=1)


def _calibrated(nlp: Language, pipe: SsvmPipe, corpus: Reader, measured: Reader) -> Diagram:
    before = pipe.inverse_temperature
    fitted = pipe.calibrate(annotate_before(nlp, pipe.name, corpus(nlp)))
    held_out = pipe.calibration_examples(annotate_before(nlp, pipe.name, measured(nlp)))
    try:
        bins = [reliability(held_out, 1.0 if before is None else before, fitted.beta)]
    except ValueError:  # Scores can be too large for sums as they are.
        bins = [reliability([], 1.0, fitted.beta)]
    bins.append(reliability(held_out, fitted.beta, fitted.beta))
    if not any(one.n_items for one in bins[-1]):
        raise ValueError(f"[{pipe.name}] there is nothing to measure the calibration on: no gold annotation")
    msg.divider(f"Component {pipe.name}")
    msg.info(
        f"Fitted to {fitted.used:,} sequences or trees; left out: {fitted.unannotated:,} without gold annotation, "
        f"{fitted.impossible:,} whose gold analysis it cannot produce"
    )
    if before is None:
        msg.info("Its scores were margins: before is P(y) ∝ exp(wᵀΦ), with β = 1")
    header = ("Probability", "Items before", "Mean", "Right", "Items", "Mean", "Right")
    msg.table(_rows(*bins), header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)
    return Diagram(pipe.name, before, fitted.beta, *bins)


def _summary(one: Diagram) -> tuple[str, ...]:
    before = "-" if one.beta_before is None else f"{one.beta_before:.4g}"
    errors = [f"{expected_error(bins):.4f}" for bins in (one.before, one.after)]
    return one.name, before, f"{one.beta:.4g}", f"{sum(bin.n_items for bin in one.after):,}", *errors


def _rows(before: Sequence[Bin], after: Sequence[Bin]) -> list[tuple[str, ...]]:
    return [
        (f"{old.low:.1f} to {old.low + 1 / N_BINS:.1f}", *_cells(old), *_cells(new)) for old, new in zip(before, after)
    ]


def _cells(one: Bin) -> tuple[str, str, str]:
    return (f"{one.n_items:,}", f"{one.mean:.3f}", f"{one.right:.3f}") if one.n_items else ("0", "-", "-")
