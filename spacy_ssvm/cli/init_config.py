"""`spacy ssvm init-config`: a config for `spacy train`, for the components that are named, or for a corpus.

It also writes the files in `configs/`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from spacy.cli._util import show_validation_error, string_to_list
from spacy.cli.init_config import save_config
from spacy.util import set_dot_to_object
from thinc.api import Config
from wasabi import msg

from ..corpus.description import CorpusDescription, describe, language_of
from ..corpus.word_lists import read_lists
from ..features.sets import ner_features
from .corpora import Corpora, prepare
from .corpus_choices import TRAINING, Choices, choose, described
from .reading import failing, file_to_write
from .settings import (
    ANY_LANGUAGE,
    PIPELINE,
    config_of,
    filled,
    make_config,
    named_components,
    spacy_language,
)


@failing("No config was written")
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
    if data is None:
        lang, unknown = spacy_language(lang or "en")
        with show_validation_error(hint_fill=False):
            config = make_config(string_to_list(pipeline or PIPELINE), solver, lang)
        if not is_stdout:
            names = config["nlp"]["pipeline"]
            msg.info(f"Language {lang}, components {', '.join(names)}")
            if unknown:
                msg.warn(f"nlp.lang is {lang}: {unknown}")
            if "parser" in names and "senter" not in names:
                msg.info("The parser finds no sentences. For raw text, add a senter: --pipeline senter,parser")
        save_config(config, output, is_stdout=is_stdout)
        return
    with show_validation_error(hint_fill=False):
        named = named_components(string_to_list(pipeline)) if pipeline is not None else set()
        lists = None if resources is None else read_lists(resources)
        corpora = prepare(data, dev, None if is_stdout else output, force)
        corpus = describe(corpora.train, corpora.dev, merge_subtokens)
        choices = choose(corpus, lang, language_of(corpora.source), merge_subtokens, named, lists)
        config = config_for(choices, solver, merge_subtokens)
    config["paths"].update(train=str(corpus.train), dev=None if corpus.dev is None else str(corpus.dev))
    if lists is not None:
        config["paths"]["resources"] = str(lists.folder)
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


def _given(**options: object) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name, value in options.items() if value)


def config_for(choices: Choices, solver: str, merge_subtokens: bool = False) -> Config:
    """A complete config, but for paths, of these choices.

    Raises:
        ValueError, ImportError: as `make_config`.
    """
    config = config_of(choices.components, solver, choices.lang, choices.read)
    components = config["components"]
    for corpus in config["corpora"].values():
        corpus.update(gold_tokens=True, merge_subtokens=merge_subtokens)
    if set(components) - {"ner", "chunker"}:
        config["training"].update(TRAINING)
    for name, value in choices.settings.items():
        set_dot_to_object(config, name, value)
    for name, settings in choices.lists.items():
        features = components[name]["model"]["features"]
        features.update(settings)
        if "templates" in features:
            further = class_templates(settings.get("clusters", {}), settings.get("classes", {}))
            features["templates"] = [*features["templates"], *further]
    if choices.tag_of:
        _add_tags(config, choices.tag_of)
        config = filled(config)
    return config


def class_templates(clusters: Iterable[str], classes: Iterable[str]) -> list[str]:
    """The templates that `NerFeatures` adds for classes with these names, to be added to another set of templates."""
    plain = set(ner_features().templates)
    # The names count; what they stand for does not.
    full = ner_features(clusters=dict.fromkeys(clusters, "file"), classes=dict.fromkeys(classes, "file"))
    return [str(template) for template in full.templates if template not in plain]


def commented(config: Config, corpora: Corpora, choices: Choices, corpus: CorpusDescription) -> tuple[list[str], str]:
    """The facts and reasons for a config, and its text with these as comments."""
    reasons = [f"{name}: {reason}" for name, reason in choices.reasons.items()]
    said = [*corpora.made, *described(corpus), "", *reasons]
    comments = ["Written by spacy ssvm init-config --data, for these reasons.", "", *said]
    head = "".join(f"# {line}".rstrip() + "\n" for line in comments)
    return [line for line in said if line], f"{head}\n{config.to_str()}"


def _add_tags(config: Config, tag_of: Mapping[str, str]) -> None:
    """Add spaCy's component that sets `tag` by `pos`, after the pos_tagger."""
    pipeline = config["nlp"]["pipeline"]
    pipeline.insert(1 + pipeline.index("pos_tagger"), "attribute_ruler")
    config["components"]["attribute_ruler"] = {
        "factory": "attribute_ruler",
        "scorer": {"@scorers": "spacy.tagger_scorer.v1"},
    }
    patterns = [{"patterns": [[{"POS": upos}]], "attrs": {"TAG": tag}} for upos, tag in tag_of.items()]
    config["initialize"]["components"]["attribute_ruler"] = {"patterns": patterns}
