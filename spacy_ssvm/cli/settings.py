"""Configs of named components: how to read, batch and stop, and parameters of all solvers.

A component has the settings of its factory. This module adds what a factory does not know, the parameters of solvers
other than the factory's own, and spaCy's languages, which are fewer than there are treebanks and texts.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy import util
from spacy.language import Language
from thinc.api import Config

from ..registry import ssvm_solvers

ANY_LANGUAGE = "xx"
"""spaCy's language with general rules for tokens."""
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
"""Name of a component → its factory, and settings other than the factory's; each may need earlier ones."""
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
"""Solver → component → parameters other than the solver's defaults; for DCD, the factories have them."""
OF_ORDER_1 = tuple(
    f"spacy-ssvm.{name}.v1" for name in ("DCA", "ExponentiatedGradient", "LBFGS", "LSE", "LSECuttingPlane")
)
"""Solvers that need exact marginals, or exactly the structures after the best, which trees have only of order 1."""
SECTIONS = ("augmenter", "classes", "clusters", "gazetteers", "label_costs", "patterns")
"""Settings of ours that a section can give. A config leaves them out while they are empty, so that one can be added."""
BASE = Path(__file__).with_name("static") / "base.cfg"
"""The settings of every config but for its components."""
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


def make_config(pipeline: Collection[str], solver: str, lang: str = "en") -> Config:
    """A complete config for these components.

    Args:
        pipeline: names of COMPONENTS, in any order, with or without the prefix of our factories.
        solver: its registered name, or the part of it that tells solvers apart, in any case.

    Raises:
        ValueError: no component or solver has such a name, or a chunker is to share a pipeline.
        ImportError: spaCy has no such language, or the language's tokenizer needs a package that is not installed.
    """
    named = named_components(pipeline)
    return config_of(named | (set(TAGGERS) if named & set(READ_TAGS) else set()), solver, lang)


def config_of(
    components: Collection[str], solver: str, lang: str, read: Mapping[str, Sequence[str]] = READ_TAGS
) -> Config:
    """A complete config for exactly these components, names of COMPONENTS in any order.

    Args:
        read: the columns that each of READ_TAGS reads, which the training corpus jackknifes; none if it is missing.

    Raises:
        ValueError, ImportError: as `make_config`.
    """
    names = [name for name in COMPONENTS if name in components]
    solver = registered_solver(solver)
    spacy.blank(lang)  # A language that there is not is refused here.
    config = Config().from_disk(BASE, interpolate=False)
    config["nlp"].update(lang=lang, pipeline=names)
    config["components"] = {name: {**COMPONENTS[name], "solver": _solver_block(name, solver)} for name in names}
    if "parser" in names and solver in OF_ORDER_1:
        config["components"]["parser"]["model"] = {**_default("parser")["model"], "order": 1}
    if {"pos_tagger", "morphologizer"} <= set(names):
        # Among coarse tags alone, a tagger makes fewer mistakes than a morphologizer among all analyses.
        config["components"]["morphologizer"]["overwrite"] = False
    for corpus in config["corpora"].values():
        corpus["gold_preproc"] = "senter" not in names
        if names == ["ner"]:
            # A recogniser of documents is as good on single sentences; one of sentences is worse on documents.
            corpus.update(gold_preproc=False, gold_tokens=True)
        if "chunker" in names:
            corpus["columns"] = ["tag"]
    columns = dict.fromkeys(column for name in names for column in read.get(name, ()))
    if columns:
        config["corpora"]["train"].update(jackknife=list(columns), seed="${system.seed}")
    for name in names:
        if read.get(name, ()) not in ((), READ_TAGS.get(name)):
            model = config["components"][name].get("model", _default(name)["model"])
            features = {**model["features"], "tags": list(read[name])}
            config["components"][name]["model"] = {**model, "features": features}
    if "lemmatizer" in names:
        config["training"]["score_weights"] = LEMMATIZER_SCORES
    if "parser" in names:
        config["training"].update(max_epochs=20, patience=4)
        config["training"]["score_weights"] = {
            **PARSER_SCORES,
            **({"sents_f": 0.0} if "senter" in names else {}),
            **({"morph_acc": 0.0, "morph_per_feat": None} if "morphologizer" in names else {}),
        }
    config = filled(config)
    weights = config["training"]["score_weights"]
    if "pos_tagger" in names and weights["tag_acc"]:  # which is what the factory weighs, whatever it tags
        share = weights["tag_acc"] / len(set(TAGGERS) & set(names))
        rest = weights["tag_acc"] - share
        weights.update(tag_acc=rest or None, pos_acc=share + (weights["pos_acc"] or 0.0))
    return config


def filled(config: Config) -> Config:
    """A config with all settings, but for empty ones of SECTIONS."""
    complete = util.load_model_from_config(config, auto_fill=True).config
    _leave_out_empty(complete["corpora"])
    _leave_out_empty(complete["components"])
    return complete


def _leave_out_empty(section: dict[str, Any]) -> None:
    for key, value in list(section.items()):
        if key in SECTIONS and not value:
            del section[key]
        elif isinstance(value, dict):
            _leave_out_empty(value)


def _default(component: str) -> dict[str, Any]:
    """The settings of a component's factory."""
    meta: Any = Language.get_factory_meta(COMPONENTS[component]["factory"])
    return dict(meta.default_config)


def named_components(pipeline: Collection[str]) -> set[str]:
    """The names of COMPONENTS among these, which may have the prefix of our factories.

    Raises:
        ValueError: there is no such component, none is named, or a chunker is to share a pipeline.
    """
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


def spacy_language(code: str) -> tuple[str, str | None]:
    """spaCy's code of a language, and None; or ANY_LANGUAGE, and why it is not this language.

    Raises:
        ImportError: the language's tokenizer needs a package that is not installed.
    """
    try:
        return str(spacy.blank(code).lang), None
    except (AttributeError, ImportError) as error:
        # A module of spacy.lang need not be a language.
        if isinstance(error, ImportError) and "E048" not in str(error):
            raise
    return ANY_LANGUAGE, f"spaCy has no language {code}; {ANY_LANGUAGE} has general rules for tokens"


def _solver_block(component: str, solver: str) -> dict[str, Any]:
    """The settings of a component's solver, which has this registered name."""
    settings = _default(component)["solver"]
    if solver != settings["@ssvm_solvers"]:
        tuned = TUNED.get(solver, {})
        settings = {"@ssvm_solvers": solver, **tuned.get(component, tuned.get("others", {}))}
    return {**settings, "seed": "${system.seed}"}
