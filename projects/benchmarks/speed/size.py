"""Size: model files as trained and compressed, what that costs, and how long they take to load."""

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from shared.page import Page
from spacy.tokens import Doc

from spacy_ssvm.corpus.reader import create_corpus

from . import models
from .bars import Bar, missing
from .clock import Contender, race, spend
from .settings import Settings

COMPONENTS = {
    "ours-ewt": ("tagger", "ewt", "tag_acc", 4, 0.05, 100),
    "ours-ner-dutch": ("ner", "conll2002-ned", "ents_f", 4, 0.05, 100),
    "ours-parser": ("parser", "ewt", "dep_las", 15, 0.1, 80),
}
"""For each model its component, corpus and score, the megabytes and points that it may cost, and the ms to load it."""
PLAIN = "as trained"
VARIANTS = [("float16", 1.0), ("int8", 1.0), ("int8", 0.5), ("int8", 0.3)]
"""Of `spacy ssvm compress`: how values are stored, and the share of the weights that is kept."""


def measure(settings: Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: _variants(settings, name, Path(folder)) for name in COMPONENTS}


def _variants(settings: Settings, name: str, folder: Path) -> dict[str, Any]:
    """Each variant that can be made; "missing" says why others cannot."""
    path = models.model(settings.training, name)
    variants: dict[str, Any] = {PLAIN: _figures(settings, name, path)}
    for values, keep in VARIANTS:
        target = folder / f"{name}-{values}-{keep}"
        try:
            arguments = ["compress", str(path), str(target), "--weight-dtype", values, "--keep-fraction", str(keep)]
            spend(["-m", "spacy", "ssvm", *arguments])
        except RuntimeError as error:
            if "No such command" not in str(error):
                raise
            return {**variants, "missing": "there is no `spacy ssvm compress`"}
        variants[f"{values}, {keep:.0%} of the weights"] = _figures(settings, name, target)
        shutil.rmtree(target)
    return variants


def _figures(settings: Settings, name: str, path: Path) -> dict[str, Any]:
    component, files, score, *_ = COMPONENTS[name]
    nlp = spacy.load(path)
    examples = list(create_corpus(settings.data / f"{files}-dev.spacy", gold_preproc=True)(nlp))[: settings.limit]
    pipe: Any = nlp.get_pipe(component)
    doc = Doc(nlp.vocab, words=["word"], tags=["NN"], pos=["NOUN"], sent_starts=[True])

    def load(_: None) -> None:
        pipe.from_disk(path / component, exclude=["vocab"])
        pipe.predict([doc])

    return {
        "megabytes": sum(file.stat().st_size for file in (path / component).rglob("*") if file.is_file()) / 1e6,
        "score": 100 * nlp.evaluate(examples)[score],
        "seconds": race({"load": Contender(lambda: None, load)}, settings.rounds)["load"],
    }


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Size", 3)
    page.text(
        "Of the component alone: bytes of its folder, score on the development part, and ms to load it into a pipeline "
        "that is there, with what its first prediction builds."
    )
    rows, bars = [], []
    for name, (component, _, _, max_megabytes, max_loss, max_ms) in COMPONENTS.items():
        variants = {key: variant for key, variant in figures[name].items() if key != "missing"}
        plain = variants[PLAIN]["score"]
        for stored, variant in variants.items():
            megabytes, score, load = variant["megabytes"], variant["score"], 1000 * median(variant["seconds"])
            rows.append([name, stored, f"{megabytes:.2f}", f"{score:.2f}", f"{score - plain:+.2f}", f"{load:.0f}"])
        title = f"Size, {component}, at a loss of at most {max_loss} points"
        good = {
            key: variant["megabytes"]
            for key, variant in variants.items()
            if variant["score"] >= plain - max_loss - 1e-9
        }
        best = min(good, key=lambda key: good[key])
        trained = f"as trained: {variants[PLAIN]['megabytes']:.1f} MB"
        if "missing" in figures[name]:
            bars.append(missing(title, f"{figures[name]['missing']}; {trained}", at_most=max_megabytes, unit="MB"))
        else:
            bars.append(Bar(title, good[best], at_most=max_megabytes, unit="MB", ours=best, peer=trained))
        milliseconds = 1000 * median(variants[best]["seconds"])
        bars.append(Bar(f"Loading, {component}", milliseconds, at_most=max_ms, unit="ms", ours=best))
    page.table(["model", "stored", "MB", "dev", "loss", "load, ms"], rows, texts=2)
    return bars
