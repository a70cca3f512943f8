"""Ready at once: a fresh process to its first Doc, the first training, and what the very first process compiles."""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from shared.page import Page
from shared.training import CONFIGS

from . import models
from .bars import Bar
from .clock import Seconds, ratio, spend
from .settings import Settings

WITHOUT_SCIPY = 'import sys; sys.modules["scipy"] = None'
FIRST_DOC = """
import sys
import spacy

nlp = spacy.load(sys.argv[1])
doc = nlp("This is the first sentence of the day.")
assert all(token.tag for token in doc)
"""
FIRST_TRAINING = """
import json, sys, warnings
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm import kernels

warnings.simplefilter("ignore")
nlp = spacy.blank("en")
nlp.add_pipe(sys.argv[1])
docs = [
    Doc(nlp.vocab, words=["An", "example"], tags=["D", "N"], pos=["DET", "NOUN"], heads=[1, 1], deps=["det", "ROOT"],
        ents=["O", "B-THING"], sent_starts=[True, False])
    for _ in range(3)
]
examples = [Example(Doc(nlp.vocab, words=["An", "example"], sent_starts=[True, False]), doc) for doc in docs]
nlp.initialize(lambda: examples)
nlp.update(examples)
(pipe,) = (pipe for _, pipe in nlp.pipeline)
pipe.from_bytes(pipe.to_bytes())
list(nlp.pipe(example.predicted for example in examples))
found = kernels.cache_statistics()
print(json.dumps({"kernels": len(found), "misses": sum(kernel.misses for kernel in found)}))
"""
"""Train, save, load and predict: COMPONENT."""
EVERYTHING = """
import json
from spacy_ssvm.cli.warmup import warmup

found = warmup()
print(json.dumps({"kernels": len(found), "misses": sum(kernel.misses for kernel in found)}))
"""
"""Every component with every solver."""
COMPONENTS = ("ssvm_tagger", "ssvm_ner", "ssvm_senter", "ssvm_parser")
STARTS = {"ours-ewt": ("tagger", 1.2), "ours-parser": ("parser with its taggers", 1.4)}
"""For each model what it is, and how many times as long as with spaCy's tagger the first Doc may take."""
TRAINED = {"ssvm_tagger": "tagger/dcd", "ssvm_parser": "parser/dcd"}
TRAINED_SENTENCES, MAX_FIRST = 60, 1.1
ROUNDS = 3
MAX_SECONDS = 10


def measure(settings: Settings) -> dict[str, Any]:
    paths = {name: models.model(settings.training, name) for name in STARTS}
    paths["spaCy"] = models.find(settings.training, "ewt")
    chosen = COMPONENTS if settings.limit is None else COMPONENTS[:1]
    everything = [spend(["-c", EVERYTHING]).figures for _ in range(2)] if settings.limit is None else []
    return {
        "everything": everything[-1:],
        "with SciPy": _starts(FIRST_DOC, paths, settings.rounds),
        "without SciPy": _starts(WITHOUT_SCIPY + FIRST_DOC, paths, settings.rounds),
        "first": {component: _compilations(component) for component in chosen},
        "trainings": {name: _trainings(config, settings) for name, config in TRAINED.items() if name in chosen},
    }


def _starts(script: str, paths: dict[str, Path], rounds: int) -> dict[str, Seconds]:
    """Seconds of the whole process by both clocks, in turns, after a round that fills the caches."""
    starts: dict[str, Seconds] = {clock: {name: [] for name in paths} for clock in ("cpu", "wall")}
    for _ in range(rounds + 1):
        for name, path in paths.items():
            spent = spend(["-c", script, str(path)])
            starts["cpu"][name].append(spent.cpu)
            starts["wall"][name].append(spent.wall)
    return {clock: {name: times[1:] for name, times in seconds.items()} for clock, seconds in starts.items()}


def _compilations(component: str) -> list[dict[str, float]]:
    """The first process that ever trains a component, with its default solver, and the second."""
    with tempfile.TemporaryDirectory() as cache:
        processes = []
        for _ in range(2):
            spent = spend(["-c", FIRST_TRAINING, component], NUMBA_CACHE_DIR=cache)
            processes.append({**spent.figures, "cpu": spent.cpu, "wall": spent.wall})
        return processes


def _trainings(config: str, settings: Settings) -> dict[str, list[float]]:
    """Wall seconds of `spacy train` for one epoch on a few sentences, with empty caches and with those filled so."""
    seconds: dict[str, list[float]] = {"empty": [], "filled": []}
    limit, train = min(settings.limit or TRAINED_SENTENCES, TRAINED_SENTENCES), settings.data / "ewt-train.spacy"
    corpora = [f"--{option}={train}" for option in ("paths.train", "paths.dev")]
    limits = [f"--corpora.{part}.limit={limit}" for part in ("train", "dev")]
    for _ in range(min(settings.rounds, ROUNDS)):
        with tempfile.TemporaryDirectory() as cache:
            for state in seconds:
                command = ["-m", "spacy", "train", f"{CONFIGS / config}.cfg", *corpora, *limits]
                spent = spend([*command, "--training.max_epochs=1"], NUMBA_CACHE_DIR=cache)
                seconds[state].append(spent.wall)
    return seconds


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Ready at once", 3)
    page.text(
        "Start to first Doc: a fresh process that imports spaCy, loads a pipeline and annotates one sentence, caches "
        f"warm. First training: wall time of `spacy train` for an epoch on {TRAINED_SENTENCES} sentences with empty "
        "caches beside the same with those that it has filled; nothing is compiled where the wheel brings machine "
        "code. "
        "First compilation: the first process ever, with an empty cache, trains a component on three sentences with "
        "its default solver, saves, loads and predicts, and a second process the same; what the first spends "
        "beyond the second, in CPU time, is the compiler's."
    )
    bars = []
    for scipy in ("with SciPy", "without SciPy"):
        for clock, seconds in figures[scipy].items():
            for name, (what, max_ratio) in STARTS.items():
                ours, peer = (f"{median(seconds[who]):.2f} s" for who in (name, "spaCy"))
                title = f"Start to first Doc, {what}, {scipy}, {clock} time, spaCy's tagger"
                bars.append(Bar(title, ratio(seconds, name, "spaCy"), at_most=max_ratio, ours=ours, peer=peer))
    for component, seconds in figures["trainings"].items():
        first, next_ = (f"{median(seconds[state]):.2f} s" for state in ("empty", "filled"))
        title = f"First training, {component}, beside the next one"
        bars.append(Bar(title, ratio(seconds, "empty", "filled"), at_most=MAX_FIRST, ours=first, peer=f"ours: {next_}"))
    for component, (first, second) in figures["first"].items():
        compiling = first["cpu"] - second["cpu"]
        title = f"First compilation, {component}"
        bars.append(Bar(title, compiling, at_most=MAX_SECONDS, unit="s", ours=f"{first['misses']} kernels"))
        title = f"Compiled by the second process, {component}"
        of = f"of {second['kernels']} kernels, {second['cpu']:.1f} s"
        bars.append(Bar(title, second["misses"], at_most=0, unit="kernels", ours=of))
    for second in figures["everything"]:
        of = f"of {second['kernels']} kernels"
        title = "Compiled by the second process, every component with every solver"
        bars.append(Bar(title, second["misses"], at_most=0, unit="kernels", ours=of))
    return bars
