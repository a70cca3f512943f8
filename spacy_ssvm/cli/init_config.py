"""`spacy ssvm init-config`: a config for `spacy train`, with the settings that suit our components.

A component's settings are those of its factory. This module adds what a factory does not know: how to read, batch and
stop, and the parameters of solvers other than the factory's own. It also writes the files in `configs/`.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy import util
from spacy.cli._util import show_validation_error, string_to_list
from spacy.cli.init_config import save_config
from spacy.language import Language
from thinc.api import Config
from wasabi import msg

from ..corpus.treebank import analyse_treebank
from ..registry import ssvm_solvers
from .languages import ANY_LANGUAGE, spacy_language
from .treebank_choices import TRAINING, Choices, choose, described

PREFIX = "ssvm_"
CHUNK_TEMPLATES = [
    "bias",
    *(f"word[{k}]" for k in range(-2, 3)),
    *(f"tag[{k}]" for k in range(-2, 3)),
    *(f"word[{k}]+word[{k + 1}]" for k in (-1, 0)),
    *(f"tag[{k}]+tag[{k + 1}]" for k in range(-2, 2)),
    *(f"tag[{k}]+tag[{k + 1}]+tag[{k + 2}]" for k in range(-2, 1)),
]
COMPONENTS: dict[str, dict[str, Any]] = {
    "senter": {"factory": "ssvm_senter"},
    "tagger": {"factory": "ssvm_tagger"},
    "pos_tagger": {"factory": "ssvm_tagger", "attr": "pos"},
    "morphologizer": {"factory": "ssvm_morphologizer"},
    "lemmatizer": {"factory": "ssvm_lemmatizer"},
    "parser": {"factory": "ssvm_parser"},
    "ner": {"factory": "ssvm_ner"},
    "chunker": {
        "factory": "ssvm_ner",
        "model": {
            "@architectures": "spacy-ssvm.Chain.v1",
            "features": {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": CHUNK_TEMPLATES},
        },
    },
}
"""Name of a component → its factory, and settings other than the factory's; each may need those before it."""
TAGGERS = ("tagger", "pos_tagger")
"""The components whose annotation others read."""
READ_TAGS = {"lemmatizer": ("tag", "pos"), "parser": ("tag", "pos")}
"""The components whose features read the annotation of TAGGERS → the columns that they read by default."""
TUNED: dict[str, dict[str, dict[str, float]]] = {
    "spacy-ssvm.DCDLight.v1": {"lemmatizer": {"C": 0.03}, "parser": {"C": 0.03}, "senter": {"C": 0.03}},
    "spacy-ssvm.SAP.v1": {
        "others": {"C": 0.2, "rho1": 0.4, "rho2": 0.6},
        "parser": {"C": 0.03, "rho1": 0.003, "rho2": 1.0},
        "senter": {"C": 0.1, "rho1": 0.03, "rho2": 1.0},
    },
    "spacy-ssvm.MIRA.v1": {"others": {"C": 0.01}, "parser": {"C": 0.1}, "senter": {"C": 0.03}},
    "spacy-ssvm.SGD.v1": {"parser": {"C": 0.03}, "senter": {"C": 0.03}},
}
"""Solver → component → parameters other than the solver's defaults. Those of DCD are in the factories."""
SECTIONS = ("augmenter", "classes", "clusters", "gazetteers", "label_costs", "patterns")
"""Settings of ours that a section can give. A config leaves them out while they are empty, so that one can be added."""
BASE = """
[paths]
train = null
dev = null

[system]
seed = 0

[nlp]
lang = null
pipeline = []
batch_size = 1000

[corpora]

[corpora.train]
@readers = "spacy-ssvm.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy-ssvm.Corpus.v1"
path = ${paths.dev}

[training]
seed = ${system.seed}
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
accumulate_gradient = 16
max_epochs = 15
max_steps = 0
patience = 5
eval_frequency = 1

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 1000000000

[training.logger]
@loggers = "spacy-ssvm.ConsoleLogger.v1"
compress = true
"""
PIPELINE = "senter,tagger,parser,ner"
"""The components, if none are named."""
LEMMATIZER_SCORES = {"lemma_acc": 1.0, "tag_acc": 0.0, "pos_acc": 0.0}
"""Weights of the scores in a pipeline with a lemmatizer and without a parser."""
PARSER_SCORES = {
    "uas": 0.0,
    "las": 1.0,
    **dict.fromkeys(("dep_uas", "dep_las", "dep_las_per_type", "sents_p", "sents_r", "sents_f")),
    "tag_acc": 0.0,
    "pos_acc": 0.0,
}
"""Weights of the scores in a pipeline with a parser: the components before it count through its trees."""


def init_config_command(
    output: Annotated[Path, typer.Argument(help="File to save the config to, or - for stdout", allow_dash=True)],
    lang: Annotated[
        str | None, typer.Option("--lang", "-l", help="Code of the language; by default en, or the treebank's")
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", "-p", help=f"Comma-separated names of the components [default: {PIPELINE}]"),
    ] = None,
    solver: Annotated[
        str, typer.Option("--solver", "-s", help="Solver of all components, such as dcd or spacy-ssvm.SAP.v1")
    ] = "dcd",
    treebank: Annotated[
        Path | None,
        typer.Option("--treebank", "-t", help="Training file in CoNLL-U, or folder of a treebank, to choose from"),
    ] = None,
    merge_subtokens: Annotated[
        bool, typer.Option("--merge-subtokens", "-T", help="With --treebank: make a multi-word token one token")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-F", help="Overwrite an existing file")] = False,
) -> None:
    """Write a config for `spacy train`, as `spacy init config` does, with the settings that suit our components.

    The components are put into the order in which they need each other. A parser gets two taggers, as its features read
    `tag` and `pos`, and so does a lemmatizer. A morphologizer beside the second one leaves `pos` to it.

    With --treebank, the components and their settings are those that suit the annotation of a treebank in CoNLL-U, and
    comments at the head of the config give the reasons.
    """
    is_stdout = str(output) == "-"
    if treebank is not None and pipeline is not None:
        msg.fail(
            "--pipeline and --treebank cannot be combined: a treebank's annotation chooses the components", exits=1
        )
    if merge_subtokens and treebank is None:
        msg.fail("--merge-subtokens needs --treebank; elsewhere it is a setting of the reader in [corpora]", exits=1)
    if not is_stdout and output.exists() and not force:
        msg.fail(f"{output} exists: use --force to overwrite it", exits=1)
    if treebank is not None:
        init_treebank_config(treebank, output, lang, solver, merge_subtokens)
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


def init_treebank_config(path: Path, output: Path, lang: str | None, solver: str, merge_subtokens: bool) -> None:
    """Write the config for a treebank; `output` is - for stdout."""
    try:
        with show_validation_error(hint_fill=False):
            treebank = analyse_treebank(path, merge_subtokens)
            choices = choose(treebank, lang, merge_subtokens)
            config = treebank_config(choices, solver, merge_subtokens)
    except (ImportError, OSError, ValueError) as error:
        msg.fail("No config was written", str(error), exits=1)
    config["paths"].update(train=str(treebank.train), dev=None if treebank.dev is None else str(treebank.dev))
    facts = described(treebank)
    reasons = [f"{name}: {reason}" for name, reason in choices.reasons.items()]
    comments = ["Written by spacy ssvm init-config --treebank, for these reasons.", "", *facts, "", *reasons]
    text = "".join(f"# {line}".rstrip() + "\n" for line in comments) + "\n" + config.to_str()
    if str(output) == "-":
        print(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, "utf8")
    for line in [*facts, *reasons]:
        msg.text(line)
    msg.info(f"Language {choices.lang}, components {', '.join(config['nlp']['pipeline'])}")
    if (lang or treebank.lang) not in (None, ANY_LANGUAGE) and choices.lang == ANY_LANGUAGE:
        msg.warn(f"nlp.lang is {choices.lang}: {choices.reasons['nlp.lang']}")
    if treebank.bad:
        msg.warn(f"{len(treebank.bad):,} sentences cannot be read and are left out")
    if treebank.dev is None:
        msg.warn(
            "There is no development corpus, and spacy train needs one: spacy ssvm split keeps a tenth back, as the "
            "head of the config says"
        )
    msg.good("Saved config", str(output))


def treebank_config(choices: Choices, solver: str, merge_subtokens: bool = False) -> Config:
    """A complete config, but for paths, of these choices.

    Raises:
        ValueError, ImportError: as `make_config`.
    """
    config = config_of(choices.components, solver, choices.lang, choices.read)
    for corpus in config["corpora"].values():
        corpus.update(gold_tokens=True, merge_subtokens=merge_subtokens)
    for name in set(TAGGERS) & set(choices.components):
        config["components"][name]["model"]["features"]["extra"] = list(choices.affixes) or None
    config["training"].update(TRAINING)
    if "parser" in config["components"]:
        config["components"]["parser"]["multi_root"] = choices.multi_root
        config["components"]["parser"]["model"].update(choices.model)
    if choices.lemmas:
        config["components"]["parser"]["model"]["features"]["lemmas"] = True
        config["corpora"]["train"]["columns"] = ["lemma"]
    if choices.tag_of:
        _add_tags(config, choices.tag_of)
        config = _filled(config)
    return config


def _add_tags(config: Config, tag_of: Mapping[str, str]) -> None:
    """Add spaCy's component that sets `tag` by `pos`, behind the pos_tagger."""
    pipeline = config["nlp"]["pipeline"]
    pipeline.insert(1 + pipeline.index("pos_tagger"), "attribute_ruler")
    config["components"]["attribute_ruler"] = {
        "factory": "attribute_ruler",
        "scorer": {"@scorers": "spacy.tagger_scorer.v1"},
    }
    patterns = [{"patterns": [[{"POS": upos}]], "attrs": {"TAG": tag}} for upos, tag in tag_of.items()]
    config["initialize"]["components"]["attribute_ruler"] = {"patterns": patterns}


def make_config(pipeline: Collection[str], solver: str, lang: str = "en") -> Config:
    """A complete config for these components.

    Args:
        pipeline: names of COMPONENTS, in any order, with or without the prefix of our factories.
        solver: its registered name, or the part of it that tells solvers apart, in any case.

    Raises:
        ValueError: no component or solver has such a name, or a chunker is to share a pipeline.
        ImportError: spaCy has no such language, or the language's tokenizer needs a package that is not installed.
    """
    named = _named_components(pipeline)
    return config_of(named | (set(TAGGERS) if named & set(READ_TAGS) else set()), solver, lang)


def config_of(
    components: Collection[str], solver: str, lang: str, read: Mapping[str, Sequence[str]] = READ_TAGS
) -> Config:
    """A complete config for exactly these components, names of COMPONENTS in any order.

    Args:
        read: the columns that each of READ_TAGS reads, which the training corpus jackknifes; none if it is not there.

    Raises:
        ValueError, ImportError: as `make_config`.
    """
    names = [name for name in COMPONENTS if name in components]
    solver = registered_solver(solver)
    nlp = spacy.blank(lang)
    config = Config().from_str(BASE, interpolate=False)
    config["nlp"].update(lang=lang, pipeline=names)
    config["components"] = {name: {**COMPONENTS[name], "solver": _solver_block(nlp, name, solver)} for name in names}
    if {"pos_tagger", "morphologizer"} <= set(names):
        # Among coarse tags alone, a tagger makes fewer mistakes than a morphologizer among all analyses.
        config["components"]["morphologizer"]["overwrite"] = False
    for corpus in config["corpora"].values():
        corpus["gold_preproc"] = "senter" not in names
        if "chunker" in names:
            corpus["columns"] = ["tag"]
    columns = dict.fromkeys(column for name in names for column in read.get(name, ()))
    if columns:
        config["corpora"]["train"].update(jackknife=list(columns), seed="${system.seed}")
    for name in names:
        if read.get(name, ()) not in ((), READ_TAGS.get(name)):
            config["components"][name]["model"] = _reading(nlp, name, read[name])
    if "lemmatizer" in names:
        config["training"]["score_weights"] = LEMMATIZER_SCORES
    if "parser" in names:
        config["training"].update(max_epochs=20, patience=4)
        config["training"]["score_weights"] = {
            **PARSER_SCORES,
            **({"sents_f": 0.0} if "senter" in names else {}),
            **({"morph_acc": 0.0, "morph_per_feat": None} if "morphologizer" in names else {}),
        }
    config = _filled(config)
    weights = config["training"]["score_weights"]
    if "pos_tagger" in names and weights["tag_acc"]:  # which is what the factory weighs, whatever it tags
        share = weights["tag_acc"] / len(set(TAGGERS) & set(names))
        rest = weights["tag_acc"] - share
        weights.update(tag_acc=rest or None, pos_acc=share + (weights["pos_acc"] or 0.0))
    return config


def _filled(config: Config) -> Config:
    """A config with all settings, but for empty ones of SECTIONS."""
    filled = util.load_model_from_config(config, auto_fill=True).config
    _leave_out_empty(filled["corpora"])
    _leave_out_empty(filled["components"])
    return filled


def _leave_out_empty(section: dict[str, Any]) -> None:
    for key, value in list(section.items()):
        if key in SECTIONS and not value:
            del section[key]
        elif isinstance(value, dict):
            _leave_out_empty(value)


def _reading(nlp: Language, component: str, tags: Sequence[str]) -> dict[str, Any]:
    """The model of a component of READ_TAGS whose features read these columns."""
    meta: Any = nlp.get_factory_meta(COMPONENTS[component]["factory"])
    model = meta.default_config["model"]
    return {**model, "features": {**model["features"], "tags": list(tags)}}


def _named_components(pipeline: Collection[str]) -> set[str]:
    named = {name.removeprefix(PREFIX) for name in pipeline if name}
    unknown = sorted(named - set(COMPONENTS))
    if unknown or not named:
        wrong = f"there is no component {', '.join(unknown)}" if unknown else "no component is named"
        raise ValueError(f"--pipeline: {wrong}; name one or more of {', '.join(COMPONENTS)}")
    if "chunker" in named and len(named) > 1:
        raise ValueError(
            "--pipeline: a chunker reads gold tags and writes its chunks to doc.ents, and so cannot share a pipeline; "
            "write a config for the chunker alone"
        )
    return named


def registered_solver(name: str) -> str:
    """The registered name of a solver, from that name or the part of it that tells solvers apart, in any case.

    Raises:
        ValueError: there is no such solver.
    """
    known: list[str] = sorted(ssvm_solvers.get_all())
    if name in known:
        return name
    short = {registered.split(".")[1].lower(): registered for registered in known}
    plain = name.lower().replace("_", "").replace("-", "")
    if plain not in short:
        raise ValueError(f"--solver: there is no solver {name}; name one of {', '.join(short)}")
    return short[plain]


def _solver_block(nlp: Language, component: str, solver: str) -> dict[str, Any]:
    """The settings of a component's solver, which has this registered name."""
    meta: Any = nlp.get_factory_meta(COMPONENTS[component]["factory"])
    default = meta.default_config["solver"]
    if solver == default["@ssvm_solvers"]:
        settings = default
    else:
        tuned = TUNED.get(solver, {})
        settings = {"@ssvm_solvers": solver, **tuned.get(component, tuned.get("others", {}))}
    return {**settings, "seed": "${system.seed}"}
