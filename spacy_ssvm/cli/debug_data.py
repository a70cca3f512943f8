"""`spacy ssvm debug-data`: finds errors in a corpus before training."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy import util
from spacy.cli._util import import_code, parse_config_overrides, show_validation_error
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from wasabi import msg

from ..corpus.checks.corpora import CorpusData, Issue, Severity, count_sentences, read
from ..corpus.checks.corpora import issues as issues_of
from ..corpus.checks.documents import check_documents
from ..pipeline.component import SsvmPipe
from ..pipeline.corpus_checks import check_annotation
from ..pipeline.parser import SsvmParser
from ..wording import counted
from .reading import CodePath, ConfigPath, read_config

PRINT: dict[Severity, Callable[..., None]] = {"error": msg.fail, "warning": msg.warn, "info": msg.info}
MAX_PLACES = 5
"""Places that are listed of each issue."""


def debug_data_command(
    context: typer.Context,
    config_path: ConfigPath,
    code_path: CodePath = None,
    strict: Annotated[bool, typer.Option("--strict", "-s", help="Fail on warnings, too")] = False,
) -> None:
    """Find annotation in the corpora of a config that the spacy-ssvm components cannot learn from.

    Settings of the config can be overridden as in `spacy train`, for instance --paths.train train.spacy. Nothing is
    trained. The exit code is 1 if there are errors.
    """
    import_code(code_path)
    overrides = parse_config_overrides(context.args)
    try:
        with show_validation_error(config_path):
            nlp, pipes, corpora, labels = _contents(config_path, overrides)
        if not pipes:
            msg.fail(f"{config_path} trains no component of spacy-ssvm: spacy debug data checks others", exits=1)
    except (OSError, ValueError) as error:
        msg.fail(f"{config_path} cannot be used", str(error), exits=1)
    try:
        with show_validation_error(config_path):
            readers = util.resolve_dot_names(nlp.config.interpolate(), corpora)
        train, dev = (read(name, reader, nlp) for name, reader in zip(("train", "dev"), readers))
    except (OSError, ValueError) as error:
        msg.fail("The corpora cannot be read", str(error), exits=1)
    sizes = [(corpus.name, *_sizes(corpus)) for corpus in (train, dev)]
    msg.table(
        sizes, header=("Corpus", "Documents", "Sentences", "Examples", "Tokens"), aligns=("l", "r", "r", "r", "r")
    )
    issues = check_documents(train, dev)
    msg.divider("Documents")
    _print_issues(issues)
    for pipe in pipes:
        late = pipe.late_boundaries(nlp) if isinstance(pipe, SsvmParser) else []
        report = check_annotation(pipe.codec, train, dev, labels.get(pipe.name))
        msg.divider(f"Component {pipe.name}")
        msg.text(", ".join(f"{label} {count:,}" for label, count in report.labels.most_common()))
        what = "components that set sentence boundaries, but come after the parser"
        remedy = "the parser takes a whole document for one sentence: put them before it"
        found = report.issues + issues_of("error", "nlp.pipeline", what, late, remedy)
        _print_issues(found)
        issues += found
    severities = Counter(issue.severity for issue in issues)
    msg.divider("Summary")
    result = f"{counted(severities['error'], 'error')}, {counted(severities['warning'], 'warning')}"
    if severities["error"] or (strict and severities["warning"]):
        msg.fail(result, exits=1)
    msg.good(result)


def _contents(
    config_path: Path, overrides: dict[str, Any]
) -> tuple[Language, list[SsvmPipe], list[str | None], dict[str, Sequence[str] | None]]:
    """The pipeline of a config, its spacy-ssvm components that are not frozen, the names of the sections of its two
    corpora, for training and development, and the labels in [initialize], by component."""
    nlp = util.load_model_from_config(read_config(config_path, overrides), auto_fill=True)
    config = nlp.config.interpolate()
    training = util.registry.resolve(config["training"], schema=ConfigSchemaTraining)
    frozen = training["frozen_components"]
    pipes = [pipe for name, pipe in nlp.components if isinstance(pipe, SsvmPipe) and name not in frozen]
    if hasattr(nlp.tokenizer, "initialize"):
        nlp.tokenizer.initialize(list, nlp=nlp, **config["initialize"]["tokenizer"])
    initialize = util.registry.resolve(config["initialize"]["components"])
    labels = {name: settings.get("labels") for name, settings in initialize.items()}
    return nlp, pipes, [training["train_corpus"], training["dev_corpus"]], labels


def _sizes(corpus: CorpusData) -> list[str]:
    """The numbers of documents, annotated sentences, examples and tokens; "-" if not all sentences are annotated."""
    n_sentences = count_sentences([document.doc for document in corpus.documents])
    sizes = len(corpus.documents), n_sentences, len(corpus.examples), corpus.n_tokens
    return ["-" if size is None else f"{size:,}" for size in sizes]


def _print_issues(issues: Sequence[Issue]) -> None:
    if not issues:
        msg.good("No problems")
    for issue in issues:
        share = "" if issue.total is None else f" of {issue.total:,} ({100 * issue.count / issue.total:.2f} %)"
        text = f"{issue.what}: {issue.count:,}{share}" if issue.count else f"no {issue.what}"
        PRINT[issue.severity](f"{issue.corpus}: {text}")
        for place in issue.where[:MAX_PLACES]:
            msg.text(f"- {place}")
        if len(issue.where) > MAX_PLACES:
            msg.text(f"- and {len(issue.where) - MAX_PLACES:,} more")
        msg.text(f"=> {issue.remedy}")
