"""`spacy ssvm compress`: a trained pipeline with fewer and coarser weights, in a smaller file."""

from pathlib import Path
from typing import Annotated, cast

import typer
from spacy import util
from wasabi import msg

from ..models.packing import Packing, WeightDtype
from ..pipeline.component import SsvmPipe


def compress_command(
    model: Annotated[str, typer.Argument(help="Package name or path of the pipeline")],
    output: Annotated[Path, typer.Argument(help="Folder for the compressed pipeline")],
    weight_dtype: Annotated[
        str, typer.Option("--weight-dtype", "-d", help="Type of a weight: float32, float16 or int8")
    ] = "int8",
    keep_fraction: Annotated[
        float, typer.Option("--keep-fraction", "-k", help="Share of the non-zero weights that is kept")
    ] = 1.0,
) -> None:
    """Save a trained pipeline with the weights of all spacy-ssvm components pruned and rounded."""
    nlp = util.load_model(model)
    pipes = {name: pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe)}
    if not pipes:
        msg.fail(f"{model} has no component of spacy-ssvm", exits=1)
    try:
        packing = Packing(cast(WeightDtype, weight_dtype), keep_fraction)
        for name, pipe in pipes.items():
            pipe.compress(packing)
            nlp.get_pipe_config(name).update(weight_dtype=packing.weight_dtype, keep_fraction=packing.keep_fraction)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    nlp.to_disk(output)
    sizes = [(name, f"{(output / name / 'model').stat().st_size / 1e6:.2f}") for name in pipes]
    msg.table(sizes, header=("Component", "MB"), aligns=("l", "r"))
    msg.good(f"Saved to {output}")
