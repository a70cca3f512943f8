"""Corpora that are read as in training: by the reader that training.dev_corpus names, with another path."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.language import Language
from spacy.training import Example
from wasabi import msg

from ..corpus import conllu_reader
from ..corpus.reader import ColumnCorpus, corpus_files

OURS = "spacy-ssvm.Corpus.v1"
SPACYS = "spacy.Corpus.v1"

Reader = Callable[[Language], Iterable[Example]]


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
    if given.get("limit") and not _is_same(block.get("path"), path):
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
        show_input(resolved.corpus.gold_tokens, resolved.columns)
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
    has_conllu = any(file.name.endswith(conllu_reader.SUFFIX) for file in corpus_files(path))
    return bool(settings.get("gold_preproc")) and "columns" not in settings and not has_conllu


def _is_same(own: Any, path: Path) -> bool:
    return isinstance(own, str | Path) and Path(own).resolve() == path.resolve()


def _differ(value: Any, other: Any) -> bool:
    """Whether two values of a setting differ; null, false, 0 and an empty list are equal."""
    return value != other and bool(value or other)


def _in_place_of(value: Any, before: Any) -> str:
    return f" in place of {srsly.json_dumps(before)}" if _differ(value, before) else ""
