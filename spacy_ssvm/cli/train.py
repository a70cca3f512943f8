"""`spacy ssvm train`: `spacy train` with the training corpus dealt out to several workers."""

from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from wasabi import msg

from ..distributed.learning import train_by_workers
from ..distributed.pool import WorkerDied
from .reading import CodePath, ConfigPath, read_config


def train_command(
    context: typer.Context,
    config_path: ConfigPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipelines", file_okay=False)],
    n_workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Number of processes")] = 1,
    address: Annotated[
        str, typer.Option("--address", help='Ray cluster whose workers learn: "local", "auto" or an address')
    ] = "local",
    code_path: CodePath = None,
) -> None:
    """Train a pipeline by several processes or machines, each with its own part of the training corpus; needs Ray.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            config = read_config(config_path, overrides)
            train_by_workers(config, output, n_workers, address, code_path)
    except WorkerDied as error:
        msg.fail(f"Stopped: {error}", "The same command goes on after the last epoch.", exits=1)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        msg.fail(str(error), exits=1)
