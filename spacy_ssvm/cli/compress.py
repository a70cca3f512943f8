"""`spacy ssvm compress`: a trained pipeline with fewer and coarser weights, in a smaller file."""

import warnings
from pathlib import Path
from typing import Annotated, cast

import typer
from wasabi import msg

from ..models.packing import Packing, WeightDtype
from ..pipeline.component import SsvmPipe
from ..pipeline.compression import set_packing
from .pipelines import CodePath, PipelineName, load_pipeline


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
    try:
        packing = Packing(cast(WeightDtype, weight_dtype), keep_fraction)
        for name, pipe in pipes.items():
            was_calibrated = _is_calibrated(pipe)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*the calibration is void")  # Said below, with the output.
                set_packing(nlp, name, packing)
            if was_calibrated and not _is_calibrated(pipe):
                msg.warn(f"{name} is calibrated, which compressed weights make void: calibrate {output} again")
        nlp.to_disk(output)
    except (OSError, ValueError) as error:
        msg.fail(str(error), exits=1)
    sizes = [(name, f"{(output / name / 'model').stat().st_size / 1e6:.2f}") for name in pipes]
    msg.table(sizes, header=("Component", "MB"), aligns=("l", "r"))
    msg.good(f"Saved to {output}")


def _is_calibrated(pipe: SsvmPipe) -> bool:
    return pipe.cfg.get("inverse_temperature") is not None
