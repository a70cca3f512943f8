"""The command group `spacy ssvm`: spaCy imports it for all of its own commands, so it imports none of ours."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

import typer
from spacy.cli._util import app
from typer.core import TyperGroup
from typer.main import get_command

from .. import registry  # noqa: F401  creates the registries that spaCy's commands look into

COMMANDS = {
    "apply": "apply",
    "calibrate": "finishing",
    "cluster": "cluster",
    "compress": "finishing",
    "debug-data": "debug_data",
    "evaluate": "evaluate",
    "fit": "fit",
    "init-config": "init_config",
    "report": "report",
    "resources": "resources",
    "serve": "serve",
    "split": "corpora",
    "suggest": "suggest",
    "train": "train",
    "tune": "tune",
    "warmup": "warmup",
}
"""Name of a command → the module of this package with its function, such as `debug_data_command`."""
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
"""click's settings for a command that takes overrides of a config, such as --paths.train, from its `context`."""


class Commands(Mapping[str, Any]):
    """The commands by name. Each is imported when it is called, or shown in a list of all.

    Args:
        rich_markup_mode: of typer, for the texts of help.
    """

    def __init__(self, rich_markup_mode: Any) -> None:
        self._rich_markup_mode = rich_markup_mode

    def __getitem__(self, name: str) -> Any:
        module = import_module(f"{__package__}.{COMMANDS[name]}")
        function = getattr(module, f"{name.replace('-', '_')}_command")
        settings = OVERRIDES if "context" in signature(function).parameters else None
        alone = typer.Typer(add_completion=False, rich_markup_mode=self._rich_markup_mode)
        alone.command(name, context_settings=settings)(function)
        return get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandGroup(TyperGroup):
    """A group of these commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands(self.rich_markup_mode)


ssvm = typer.Typer(name="ssvm", cls=CommandGroup, no_args_is_help=True)


@ssvm.callback()
def group() -> None:
    """Commands for spacy-ssvm components."""


app.add_typer(ssvm)
