"""The command group `spacy ssvm`."""

import typer
from spacy.cli._util import app

ssvm = typer.Typer(name="ssvm", help="Commands for spacy-ssvm components.", no_args_is_help=True)
app.add_typer(ssvm)

from . import evaluate, warmup  # noqa: E402, F401  each registers its command
