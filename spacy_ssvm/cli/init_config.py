"""`spacy ssvm init-config`: a config for `spacy train`, for the components that are named, or for a corpus.

It also writes the files in `configs/`.
"""

from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import show_validation_error, string_to_list
from spacy.cli.init_config import save_config
from wasabi import msg

from ..corpus.word_lists import read_lists
from .corpora import prepare
from .corpus_config import commented, corpus_config
from .languages import ANY_LANGUAGE, spacy_language
from .pipelines import file_to_write
from .settings import PIPELINE, make_config, named_components


def init_config_command(
    output: Annotated[
        Path,
        typer.Argument(help="File to save the config to, or - for stdout", allow_dash=True, callback=file_to_write),
    ],
    lang: Annotated[
        str | None,
        typer.Option("--lang", "-l", help="Code of the language; by default en, or that of the lists or the corpus"),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(
            "--pipeline",
            "-p",
            help=f"Comma-separated names of the components [default: {PIPELINE}, or those that the corpus annotates]",
        ),
    ] = None,
    solver: Annotated[
        str, typer.Option("--solver", "-s", help="Solver of all components, such as dcd or spacy-ssvm.SAP.v1")
    ] = "dcd",
    data: Annotated[
        Path | None,
        typer.Option("--data", "--treebank", "-t", help="Training corpus to choose for: a file, or a folder"),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", "-d", help="With --data: development corpus [default: beside the other]")
    ] = None,
    resources: Annotated[
        Path | None,
        typer.Option("--resources", "-r", help="With --data: folder of word lists, as spacy ssvm resources makes it"),
    ] = None,
    merge_subtokens: Annotated[
        bool, typer.Option("--merge-subtokens", "-T", help="With --data: make a multi-word token of CoNLL-U one token")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-F", help="Overwrite an existing file")] = False,
) -> None:
    """Write a config for `spacy train`, as `spacy init config` does, with the settings that suit our components.

    The components are put into the order in which they need each other. A parser gets two taggers, as its features read
    `tag` and `pos`, and so does a lemmatizer. A morphologizer next to the second one leaves `pos` to it.

    With --data, the components and their settings suit the annotation of a corpus, and comments at the head of the
    config give the reasons.
    """
    is_stdout = str(output) == "-"
    if data is None and (given := _given(dev=dev, resources=resources, merge_subtokens=merge_subtokens)):
        msg.fail(f"{given} needs --data, which names the corpus to choose for", exits=1)
    if not is_stdout and output.exists() and not force:
        msg.fail(f"{output} exists: use --force to overwrite it", exits=1)
    if data is not None:
        init_corpus_config(output, data, dev, lang, pipeline, solver, merge_subtokens, resources, force)
        return
    try:
        lang, unknown = spacy_language(lang or "en")
        with show_validation_error(hint_fill=False):
            config = make_config(string_to_list(pipeline or PIPELINE), solver, lang)
    except (ImportError, ValueError) as error:
        msg.fail("No config was written", str(error), exits=1)
    if not is_stdout:
        names = config["nlp"]["pipeline"]
        msg.info(f"Language {lang}, components {', '.join(names)}")
        if unknown:
            msg.warn(f"nlp.lang is {lang}: {unknown}")
        if "parser" in names and "senter" not in names:
            msg.info("The parser finds no sentences. For raw text, add a senter: --pipeline senter,parser")
    save_config(config, output, is_stdout=is_stdout)


def _given(**options: object) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name, value in options.items() if value)


def init_corpus_config(
    output: Path,
    data: Path,
    dev: Path | None,
    lang: str | None,
    pipeline: str | None,
    solver: str,
    merge_subtokens: bool,
    resources: Path | None,
    force: bool,
) -> None:
    """Write the config for a corpus; `output` is - for stdout."""
    is_stdout = str(output) == "-"
    try:
        with show_validation_error(hint_fill=False):
            named = named_components(string_to_list(pipeline)) if pipeline is not None else set()
            lists = None if resources is None else read_lists(resources)
            corpora = prepare(data, dev, None if is_stdout else output, force)
            config, choices, corpus = corpus_config(corpora, lang, solver, merge_subtokens, named, lists)
    except (ImportError, OSError, ValueError) as error:
        msg.fail("No config was written", str(error), exits=1)
    said, text = commented(config, corpora, choices, corpus)
    if is_stdout:
        print(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, "utf8")
    for line in said:
        msg.text(line)
    msg.info(f"Language {choices.lang}, components {', '.join(config['nlp']['pipeline'])}")
    if choices.lang == ANY_LANGUAGE != lang:
        msg.warn(f"nlp.lang is {choices.lang}: {choices.reasons['nlp.lang']}")
    if corpus.bad:
        msg.warn(f"{len(corpus.bad):,} {corpus.pieces} cannot be read and are left out")
    msg.good("Saved config", str(output))
