"""Options that the commands share, and ways to load a pipeline and annotate a corpus by a part of it."""

import configparser
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy import util
from spacy.cli._util import import_code
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Config
from wasabi import msg

from ..pipeline.component import SsvmPipe

CodePath = Annotated[
    Path | None, typer.Option("--code", "-c", help="Python file with registered functions and extensions")
]
ConfigPath = Annotated[Path, typer.Argument(help="Config file", exists=True, dir_okay=False)]
DataPath = Annotated[Path, typer.Argument(help="Corpus in .spacy format or CoNLL-U", exists=True)]
PipelineName = Annotated[str, typer.Argument(help="Package name or path of the pipeline")]


def file_to_write(path: Path | None) -> Path | None:
    """The path that an option names for a result, checked before the work that leads to it; the callback of options.

    Raises:
        typer.BadParameter: no file can be written there.
    """
    if path is None or str(path) == "-":
        return path
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder: name a file")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise typer.BadParameter(f"{path} cannot be written, as {above} is no folder")
    if not os.access(path if path.exists() else above, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written: there is no right to do so")
    return path


def load_pipeline(
    model: str | Path, code_path: Path | None, output: Path | None = None, with_disabled: bool = False
) -> tuple[Language, dict[str, SsvmPipe]]:
    """A pipeline and its spacy-ssvm components by name; the command fails if there are none.

    Args:
        output: the folder that the command saves to; the command fails if it is the pipeline's own folder, where the
            original would be lost.
        with_disabled: include the components that are disabled.
    """
    import_code(code_path)
    nlp = loaded(model)
    components = nlp.components if with_disabled else nlp.pipeline
    pipes = {name: pipe for name, pipe in components if isinstance(pipe, SsvmPipe)}
    if not pipes:
        msg.fail(f"{model} has no component of spacy-ssvm", exits=1)
    if output is not None and nlp.path is not None and output.resolve() == nlp.path.resolve():
        msg.fail(f"{output} is the pipeline itself: name another folder for the output", exits=1)
    return nlp, pipes


def loaded(model: str | Path) -> Language:
    """Load a pipeline; if it cannot be loaded, the command exits with a message instead of a traceback."""
    try:
        return util.load_model(model)
    except (ImportError, OSError, ValueError, configparser.Error) as error:
        msg.fail(f"{model} cannot be loaded", str(error), exits=1)


def read_config(path: Path, overrides: dict[str, Any]) -> Config:
    """A config with these overrides.

    Raises:
        ValueError: a section or setting is given twice.
        ConfigValidationError: as `spacy.util.load_config`.
    """
    try:
        return util.load_config(path, overrides=overrides)
    except (configparser.DuplicateSectionError, configparser.DuplicateOptionError) as error:
        what = (
            f"{error.option} of [{error.section}]"
            if isinstance(error, configparser.DuplicateOptionError)
            else f"[{error.section}]"
        )
        raise ValueError(
            f"{path}, line {error.lineno}: {what} is given a second time; change the first one, or override its "
            "settings on the command line, as in --training.max_epochs 10"
        ) from None


def annotate_before(
    nlp: Language, name: str, examples: Iterable[Example], components: Collection[str] | None = None
) -> list[Example]:
    """The examples, with their predicted Docs annotated by the components that come before the named one.

    Args:
        components: the components that may run; all by default.
    """
    annotated = list(examples)
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    enabled = [other for other in before if components is None or other in components]
    with nlp.select_pipes(enable=enabled):
        docs: list[Doc] = list(nlp.pipe([example.predicted for example in annotated]))
    for example, doc in zip(annotated, docs):
        example.predicted = doc
    return annotated
