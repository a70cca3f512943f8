"""`spacy ssvm init-config`: a config for `spacy train`, with the settings that suit our components.

A component's settings are those of its factory. This module adds what a factory does not know: how to read, batch and
stop, and the parameters of solvers other than the factory's own. It also writes the files in `configs/`.
"""

from collections.abc import Collection
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

from ..registry import ssvm_solvers

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
"""The components whose annotation others read; a morphologizer can take the place of the second."""
READ_TAGS = {"lemmatizer", "parser"}
"""The components whose features read the annotation of TAGGERS."""
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
"""
JACKKNIFED = ("tag", "pos")
"""The columns that TAGGERS annotate."""
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
    lang: Annotated[str, typer.Option("--lang", "-l", help="Code of the language")] = "en",
    pipeline: Annotated[
        str, typer.Option("--pipeline", "-p", help="Comma-separated names of the components")
    ] = "senter,tagger,parser,ner",
    solver: Annotated[
        str, typer.Option("--solver", "-s", help="Solver of all components, such as dcd or spacy-ssvm.SAP.v1")
    ] = "dcd",
    force: Annotated[bool, typer.Option("--force", "-F", help="Overwrite an existing file")] = False,
) -> None:
    """Write a config for `spacy train`, as `spacy init config` does, with the settings that suit our components.

    The components are put into the order in which they need each other. A parser gets two taggers, as its features read
    `tag` and `pos`, and so does a lemmatizer; a morphologizer takes the place of the second one.
    """
    is_stdout = str(output) == "-"
    if not is_stdout and output.exists() and not force:
        msg.fail(f"{output} exists: use --force to overwrite it", exits=1)
    try:
        with show_validation_error(hint_fill=False):
            config = make_config(string_to_list(pipeline), solver, lang)
    except (ImportError, ValueError) as error:
        msg.fail("No config was written", str(error), exits=1)
    if not is_stdout:
        names = config["nlp"]["pipeline"]
        msg.info(f"Language {lang}, components {', '.join(names)}")
        if "parser" in names and "senter" not in names:
            msg.info("The parser finds no sentences. For raw text, add a senter: --pipeline senter,parser")
    save_config(config, output, is_stdout=is_stdout)


def make_config(pipeline: Collection[str], solver: str, lang: str = "en") -> Config:
    """A complete config for these components.

    pipeline: names of COMPONENTS, in any order, with or without the prefix of our factories. solver: its registered
    name, or the part of it that tells solvers apart, in any case.

    Raises:
        ValueError: no component or solver has such a name, or a chunker is to share a pipeline.
        ImportError: spaCy has no such language, or the language's tokenizer needs a package that is not installed.
    """
    named = _named_components(pipeline)
    needed = set(TAGGERS) - {"pos_tagger" if "morphologizer" in named else ""} if named & READ_TAGS else set()
    names = [name for name in COMPONENTS if name in named | needed]
    solver = registered_solver(solver)
    nlp = spacy.blank(lang)
    config = Config().from_str(BASE, interpolate=False)
    config["nlp"].update(lang=lang, pipeline=names)
    config["components"] = {name: {**COMPONENTS[name], "solver": _solver_block(nlp, name, solver)} for name in names}
    for corpus in config["corpora"].values():
        corpus["gold_preproc"] = "senter" not in names
        if "chunker" in names:
            corpus["columns"] = ["tag"]
    if named & READ_TAGS:
        config["corpora"]["train"].update(jackknife=list(JACKKNIFED), seed="${system.seed}")
    if "lemmatizer" in names:
        config["training"]["score_weights"] = LEMMATIZER_SCORES
    if "parser" in names:
        config["training"].update(max_epochs=20, patience=4)
        config["training"]["score_weights"] = {
            **PARSER_SCORES,
            **({"sents_f": 0.0} if "senter" in names else {}),
            **({"morph_acc": 0.0, "morph_per_feat": None} if "morphologizer" in names else {}),
        }
    return util.load_model_from_config(config, auto_fill=True).config


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
