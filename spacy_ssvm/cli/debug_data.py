"""`spacy ssvm debug-data`: what is wrong with a corpus, before it is trained on."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.util import registry, resolve_dot_names
from wasabi import msg

from ..corpus.checks import documents
from ..corpus.checks.corpora import CorpusData, Issue, Reader, Severity, read
from ..pipeline.component import SsvmPipe
from .pipelines import CodePath, ConfigPath

PRINT: dict[Severity, Callable[..., None]] = {"error": msg.fail, "warning": msg.warn, "info": msg.info}
MAX_PLACES = 5
"""Places that are shown of each issue."""


def debug_data_command(
    context: typer.Context,
    config_path: ConfigPath,
    code_path: CodePath = None,
    strict: Annotated[bool, typer.Option("--strict", "-s", help="Fail on warnings, too")] = False,
) -> None:
    """Check the training and development corpora of a config for what the spacy-ssvm components cannot learn from.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. Nothing is
    trained. The exit code is 1 where there are errors.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            plan = _plan(config_path, overrides)
        if not plan.pipes:
            msg.fail(f"{config_path} trains no component of spacy-ssvm: spacy debug data checks others", exits=1)
        train, dev = (read(name, reader, plan.nlp) for name, reader in zip(("train", "dev"), plan.readers))
    except (OSError, ValueError) as error:
        msg.fail(f"{config_path} cannot be used", str(error), exits=1)
    sizes = [(corpus.name, *map("{:,}".format, _sizes(corpus))) for corpus in (train, dev)]
    msg.table(sizes, header=("Corpus", "Documents", "Examples", "Tokens"), aligns=("l", "r", "r", "r"))
    issues = documents.check(train, dev)
    msg.divider("Documents")
    _print_issues(issues)
    for pipe in plan.pipes:
        report = pipe.codec.check_corpora(train, dev, plan.labels.get(pipe.name))
        msg.divider(f"Component {pipe.name}")
        msg.text(", ".join(f"{label} {count:,}" for label, count in report.labels.most_common()))
        _print_issues(report.issues)
        issues += report.issues
    severities = Counter(issue.severity for issue in issues)
    msg.divider("Summary")
    summary = f"errors: {severities['error']}, warnings: {severities['warning']}"
    if severities["error"] or (strict and severities["warning"]):
        msg.fail(summary, exits=1)
    msg.good(summary)


class Plan(NamedTuple):
    """What a config trains.

    pipes: our components that are not frozen. readers: of the training and the development corpus. labels: those that
    `initialize` is given, by component.
    """

    nlp: Language
    pipes: list[SsvmPipe]
    readers: Sequence[Reader]
    labels: dict[str, Sequence[str] | None]


def _plan(config_path: Path, overrides: dict[str, Any]) -> Plan:
    nlp = util.load_model_from_config(util.load_config(config_path, overrides=overrides))
    config = nlp.config.interpolate()
    training = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    frozen = training["frozen_components"]
    pipes = [pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe) and name not in frozen]
    readers = resolve_dot_names(config, [training["train_corpus"], training["dev_corpus"]])
    given = registry.resolve(config["initialize"]["components"])
    return Plan(nlp, pipes, readers, {name: settings.get("labels") for name, settings in given.items()})


def _sizes(corpus: CorpusData) -> tuple[int, int, int]:
    return len(corpus.documents), len(corpus.examples), corpus.n_tokens


def _print_issues(issues: Sequence[Issue]) -> None:
    if not issues:
        msg.good("Nothing found")
    for issue in issues:
        share = "" if issue.total is None else f" of {issue.total:,} ({100 * issue.count / issue.total:.2f} %)"
        PRINT[issue.severity](f"{issue.corpus}: {issue.what}: {issue.count:,}{share}")
        for place in issue.where[:MAX_PLACES]:
            msg.text(f"- {place}")
        if len(issue.where) > MAX_PLACES:
            msg.text(f"- and {len(issue.where) - MAX_PLACES:,} more")
        msg.text(f"=> {issue.remedy}")
