"""Trained pipelines made ready for use: `spacy ssvm calibrate` fits one temperature per component, so that scores are
probabilities; `spacy ssvm compress` leaves fewer and coarser weights, in a smaller file.
"""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, cast

import typer
from spacy.language import Language
from wasabi import msg

from ..models.packing import Packing, WeightDtype
from ..pipeline.component import SsvmPipe
from ..pipeline.compression import set_packing
from ..training.calibration import N_BINS, Bin, expected_error, reliability
from ..wording import counted
from .plots import Diagram, save
from .reading import CodePath, DataPath, PipelineName, Reader, annotate_before, dev_reader, failing, load_pipeline


@failing()
def calibrate_command(
    model: PipelineName,
    data_path: DataPath,
    output: Annotated[Path, typer.Argument(help="Folder for the calibrated pipeline")],
    components: Annotated[
        list[str] | None,
        typer.Option("--component", "-n", help="Component to calibrate, all by default; repeatable"),
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

    The corpus must not be that of training. Corpora are read as the pipeline's training.dev_corpus is. Predictions do
    not change. Components that cannot be calibrated are left out, unless --component names them.
    """
    nlp, pipes = load_pipeline(model, code_path, output)
    unknown = sorted(set(components or ()) - set(pipes))
    if unknown:
        msg.fail(f"{model} has no spacy-ssvm component {', '.join(unknown)}", exits=1)
    corpus = dev_reader(nlp, data_path)
    measured = dev_reader(nlp, held_out) if held_out else corpus
    for reader in (corpus, measured):
        next(iter(reader(nlp)), None)  # A file that cannot be read is no fault of a component.
    diagrams, left_out = [], []
    for name in components or pipes:
        try:
            diagrams.append(_calibrate(nlp, pipes[name], corpus, measured))
        except ValueError as error:
            left_out.append(str(error))
    if left_out and (components or not diagrams):
        raise ValueError("\n".join(left_out))
    if left_out:
        msg.warn(f"{counted(len(left_out), 'component')} cannot be calibrated", "\n".join(left_out))
    _show(("Component", "β before", "β after", "Items", "ECE before", "ECE after"), map(_summary, diagrams))
    nlp.to_disk(output)
    msg.good(f"Saved to {output}")
    if plot_path is not None:
        save(diagrams, plot_path)
        msg.good(f"Saved the diagram to {plot_path}")


def _calibrate(nlp: Language, pipe: SsvmPipe, corpus: Reader, held_out: Reader) -> Diagram:
    """Calibrate a component on one corpus, and print its reliability on the other."""
    beta_before = pipe.inverse_temperature
    examples = pipe.calibration_examples(annotate_before(nlp, pipe.name, held_out(nlp)))
    if held_out is not corpus and not any(example.known.is_annotated for example in examples):
        raise ValueError(f"[{pipe.name}] there is nothing to measure the calibration on: no gold annotation")
    fitted = pipe.calibrate(annotate_before(nlp, pipe.name, corpus(nlp)))
    try:
        before = reliability(examples, 1.0 if beta_before is None else beta_before, fitted.beta)
    except ValueError:  # uncalibrated scores can be too large for sums
        before = reliability([], 1.0, fitted.beta)
    after = reliability(examples, fitted.beta, fitted.beta)
    msg.divider(f"Component {pipe.name}")
    msg.info(
        f"Fitted to {fitted.used:,} sequences or trees; left out: {fitted.unannotated:,} without gold annotation, "
        f"{fitted.impossible:,} whose gold analysis the component cannot produce"
    )
    if beta_before is None:
        msg.info("Before calibration the scores were margins; the left half shows P(y) ∝ exp(wᵀΦ), with β = 1")
    titles = (f"{title} {when}" for when in ("before", "after") for title in ("Items", "Mean", "Right"))
    starts = [f"{bin.low:.1f} to {bin.low + 1 / N_BINS:.1f}" for bin in after]
    cells = ([*_cells(left), *_cells(right)] for left, right in zip(before, after))
    _show(("Probability", *titles), [(start, *row) for start, row in zip(starts, cells)])
    return Diagram(pipe.name, beta_before, fitted.beta, before, after)


def _summary(diagram: Diagram) -> tuple[str, ...]:
    before = "-" if diagram.beta_before is None else f"{diagram.beta_before:.4g}"
    errors = [f"{expected_error(bins):.4f}".replace("nan", "-") for bins in (diagram.before, diagram.after)]
    return diagram.name, before, f"{diagram.beta:.4g}", f"{sum(bin.n_items for bin in diagram.after):,}", *errors


def _show(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose first column is text."""
    msg.table(list(rows), header=header, aligns=("l", *"r" * (len(header) - 1)), divider=True)


def _cells(bin: Bin) -> tuple[str, str, str]:
    return (f"{bin.n_items:,}", f"{bin.mean:.3f}", f"{bin.right:.3f}") if bin.n_items else ("0", "-", "-")


@failing()
def compress_command(
    model: PipelineName,
    output: Annotated[Path, typer.Argument(help="Folder for the compressed pipeline")],
    weight_dtype: Annotated[
        str, typer.Option("--weight-dtype", "-d", help="Type of a weight: float32, float16 or int8")
    ] = "int8",
    keep_fraction: Annotated[
        float, typer.Option("--keep-fraction", "-k", help="Share of the non-zero weights that is kept")
    ] = 1.0,
    code_path: CodePath = None,
) -> None:
    """Save a trained pipeline with the weights of all spacy-ssvm components pruned and rounded."""
    nlp, pipes = load_pipeline(model, code_path, output, with_disabled=True)
    packing = Packing(cast(WeightDtype, weight_dtype), keep_fraction)
    for name, pipe in pipes.items():
        was_calibrated = _is_calibrated(pipe)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*the calibration is void")  # Said below, with the output.
            set_packing(nlp, name, packing)
        if was_calibrated and not _is_calibrated(pipe):
            msg.warn(f"{name} is calibrated, which compressed weights make void: calibrate {output} again")
    nlp.to_disk(output)
    sizes = [(name, f"{(output / name / 'model').stat().st_size / 1e6:.2f}") for name in pipes]
    msg.table(sizes, header=("Component", "MB"), aligns=("l", "r"))
    msg.good(f"Saved to {output}")


def _is_calibrated(pipe: SsvmPipe) -> bool:
    return pipe.cfg.get("inverse_temperature") is not None
