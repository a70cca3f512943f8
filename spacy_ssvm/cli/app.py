"""The command group `spacy ssvm`."""

import typer
from spacy.cli._util import app

from .apply import apply_command
from .calibrate import calibrate_command
from .cluster import cluster_command
from .compress import compress_command
from .debug_data import debug_data_command
from .evaluate import evaluate_command
from .init_config import init_config_command
from .pipelines import OVERRIDES
from .report import report_command
from .split import split_command
from .suggest import suggest_command
from .train import train_command
from .tune import tune_command
from .warmup import warmup_command

ssvm = typer.Typer(name="ssvm", help="Commands for spacy-ssvm components.", no_args_is_help=True)
ssvm.command("apply")(apply_command)
ssvm.command("calibrate")(calibrate_command)
ssvm.command("cluster")(cluster_command)
ssvm.command("compress")(compress_command)
ssvm.command("debug-data", context_settings=OVERRIDES)(debug_data_command)
ssvm.command("evaluate")(evaluate_command)
ssvm.command("init-config")(init_config_command)
ssvm.command("report")(report_command)
ssvm.command("split")(split_command)
ssvm.command("suggest")(suggest_command)
ssvm.command("train", context_settings=OVERRIDES)(train_command)
ssvm.command("tune", context_settings=OVERRIDES)(tune_command)
ssvm.command("warmup")(warmup_command)
app.add_typer(ssvm)
