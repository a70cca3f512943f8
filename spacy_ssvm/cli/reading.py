"""Reading for the commands: options that they share, pipelines, configs, and corpora as in training.

A corpus is read by the reader that training.dev_corpus names, with another path.
"""

import configparser
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import srsly
import typer
from spacy import util
from spacy.cli._util import import_code
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.corpus import FILE_TYPE
from thinc.api import Config
from wasabi import msg

from ..corpus.columns import may_have_columns
from ..corpus.reader import ColumnCorpus, corpus_files
from ..pipeline.component import SsvmPipe

P = ParamSpec("P")
OURS = "spacy-ssvm.Corpus.v1"
SPACYS = "spacy.Corpus.v1"
Reader = Callable[[Language], Iterable[Example]]

CodePath = Annotated[
    Path | None, typer.Option("--code", "-c", help="Python file with registered functions and extensions")
]
ConfigPath = Annotated[Path, typer.Argument(help="Config file", exists=True, dir_okay=False)]
DataPath = Annotated[Path, typer.Argument(help="Corpus in .spacy format, CoNLL-U or columns", exists=True)]
PipelineName = Annotated[str, typer.Argument(help="Package name or path of the pipeline")]


def failing(title: str = "") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """A command that ends with the message of an error, below this title, where what it is given cannot be used."""

    def made(command: Callable[P, None]) -> Callable[P, None]:
        @wraps(command)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                command(*args, **kwargs)
            except (ImportError, OSError, ValueError) as error:
                msg.fail(title or str(error), title and str(error), exits=1)

        return run

    return made


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


def training_of(nlp: Language) -> tuple[dict[str, Any], Reader, Reader]:
    """The resolved [training] of a pipeline, and the readers of its training and its development corpus."""
    config = nlp.config.interpolate()
    training: dict[str, Any] = util.registry.resolve(config["training"], schema=ConfigSchemaTraining)
    train, dev = util.resolve_dot_names(config, [training["train_corpus"], training["dev_corpus"]])
    return training, train, dev


def dev_reader(
    nlp: Language, path: Path, columns: Sequence[str] | None = None, gold_preproc: bool | None = None
) -> Reader:
    """The reader that training.dev_corpus names, with all of its settings, of the corpus at `path`; both are printed.

    A limit holds for the corpus of the config only; another one, such as a test set, is read as a whole. If the config
    names no reader that takes a path, it is "spacy-ssvm.Corpus.v1". It also replaces "spacy.Corpus.v1", whose settings
    it has.

    Args:
        columns, gold_preproc: override these settings, and others that contradict them.

    Raises:
        ValueError: the reader is not registered, lacks a setting that is overridden, or refuses a value.
    """
    name, block = _dev_block(nlp)
    reader = block.get("@readers", OURS)
    accepted = _parameters(reader, name)
    if not block or "path" not in accepted:
        msg.warn(
            f"training.dev_corpus of the pipeline's config, {name}, is no reader with a path: "
            f'{path} is read by "{OURS}"'
        )
        reader, block = OURS, {}
    given = {key: value for key, value in block.items() if key not in ("@readers", "path")}
    overrides = _overrides(given, columns, gold_preproc)
    own = block.get("path")
    if given.get("limit") and not (isinstance(own, str | Path) and Path(own).resolve() == path.resolve()):
        overrides["limit"] = 0
    settings = {**given, **overrides}
    if reader == SPACYS and not (given.get("gold_preproc") and _only_spacys(settings, path)):
        reader = OURS
    accepted = _parameters(reader, name)
    if unknown := sorted(set(overrides) - set(accepted)):
        raise ValueError(f'{name} is read by "{reader}", which has no setting {", ".join(unknown)} to override')
    said = ", ".join(
        f"{key} = {srsly.json_dumps(value)}" + _in_place_of(value, given.get(key, accepted.get(key)))
        for key, value in settings.items()
        if _differ(value, accepted.get(key)) or _differ(value, given.get(key))
    )
    msg.info(f'{path} is read{f" as {name}" * bool(block)} by "{reader}"{": " * bool(said)}{said}')
    config = {"reader": {**settings, "@readers": reader, "path": str(path)}}
    resolved: Reader = util.registry.resolve(config)["reader"]
    if isinstance(resolved, ColumnCorpus):
        has_columns = path.is_file() and may_have_columns(path)  # Nothing says what is between their words.
        show_input(resolved.corpus.gold_tokens or has_columns, resolved.columns)
    return resolved


def is_read_as_text(nlp: Language) -> bool:
    """Whether the reader that training.dev_corpus names is ours or spaCy's, and gives components no gold tokens."""
    _, block = _dev_block(nlp)
    has_gold_tokens = block.get("gold_tokens") or block.get("gold_preproc")
    return block.get("@readers", OURS) in (OURS, SPACYS) and not has_gold_tokens


def show_input(gold_tokens: bool, columns: Sequence[str]) -> None:
    """Print what the components get besides the text."""
    names = ", ".join(columns) or "none"
    msg.info(f"Gold tokens: {'yes' if gold_tokens else 'no'}; gold columns given to the components: {names}")


def _dev_block(nlp: Language) -> tuple[str, dict[str, Any]]:
    """The name of the section that training.dev_corpus names, and the section, empty if there is no reader in it."""
    config = nlp.config.interpolate()
    name = config.get("training", {}).get("dev_corpus") or "corpora.dev"
    try:
        block: Any = util.dot_to_object(config, name)
    except KeyError:
        return name, {}
    return name, block if isinstance(block, dict) and "@readers" in block else {}


def _parameters(reader: str, name: str) -> dict[str, Any]:
    """The settings of a registered reader, with their defaults."""
    try:
        function = util.registry.get("readers", reader)
    except ValueError as error:
        raise ValueError(
            f'{name} is read by "{reader}", and there is no such reader: name the file that registers it with --code, '
            "or install its package"
        ) from error
    parameters = signature(function).parameters.values()
    return {one.name: None if one.default is Parameter.empty else one.default for one in parameters}


def _overrides(given: Mapping[str, Any], columns: Sequence[str] | None, gold_preproc: bool | None) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    if columns:
        overrides["columns"] = list(columns)
        if jackknife := given.get("jackknife"):
            overrides["jackknife"] = [column for column in jackknife if column not in columns]
    if gold_preproc is not None:
        overrides["gold_preproc"] = gold_preproc
        if not gold_preproc and given.get("gold_tokens"):
            overrides["gold_tokens"] = False
    return overrides


def _only_spacys(settings: Mapping[str, Any], path: Path) -> bool:
    """Whether spaCy's reader yields other examples than ours, which marks a Doc of one sentence as one."""
    has_others = any(not file.name.endswith(FILE_TYPE) for file in corpus_files(path))
    return bool(settings.get("gold_preproc")) and "columns" not in settings and not has_others


def _differ(value: Any, other: Any) -> bool:
    """Whether two values of a setting differ; null, false, 0 and an empty list are equal."""
    return value != other and bool(value or other)


def _in_place_of(value: Any, before: Any) -> str:
    return f" in place of {srsly.json_dumps(before)}" if _differ(value, before) else ""
