"""Memory: of training, from its clock, and of one very long Doc, each length in a process of its own."""

from pathlib import Path
from typing import Any

import srsly
from shared.page import Curve, Page, Panel

from . import models
from .bars import Bar, missing
from .clock import spend
from .settings import Settings

TOKENS = (1_000, 250_000, 500_000, 1_000_000)
TRAININGS = {"ours-ewt": ("the EWT tagger", 600), "ours-parser": ("the EWT parser with its taggers", 1000)}
"""For each model, what was trained, and the megabytes that this may take."""
GROWTH = 1.25
SCRIPT = """
import json, sys, time
import spacy
from shared.peak_memory import peak_memory
from spacy.tokens import Doc, DocBin

path, corpus, number = sys.argv[1:]
nlp = spacy.load(path)
words = [token.text for doc in DocBin().from_disk(corpus).get_docs(nlp.vocab) for token in doc]
words = (words * (int(number) // len(words) + 1))[: int(number)]
list(nlp.pipe([Doc(nlp.vocab, words=words[:1000])]))
doc = Doc(nlp.vocab, words=words)
before, started = peak_memory(), time.process_time()
(doc,) = nlp.pipe([doc])
seconds = time.process_time() - started
assert len(doc) == len(words) and doc[-1].tag
print(json.dumps({"tokens": len(doc), "seconds": seconds, "before": before, "megabytes": peak_memory()}))
"""
"""One Doc of so many words of a corpus: MODEL CORPUS TOKENS."""


def measure(settings: Settings) -> dict[str, Any]:
    path, corpus = models.model(settings.training, "ours-ewt"), settings.data / "ewt-test.spacy"
    numbers = TOKENS if settings.limit is None else TOKENS[:1]
    return {
        "trainings": {name: _peak(models.model(settings.training, name).parent / "clock.jsonl") for name in TRAININGS},
        "doc": [spend(["-c", SCRIPT, str(path), str(corpus), str(n)]).figures for n in numbers],
    }


def _peak(clock: Path) -> float:
    """The megabytes that `shared.clocked_train` has noted; 0 if it has not."""
    return max((row.get("megabytes", 0) for row in srsly.read_jsonl(clock)), default=0)


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Memory", 3)
    page.text("Peak memory of a fresh process that tags one Doc, less what it held before.")
    rows = figures["doc"]
    tokens = [row["tokens"] for row in rows]
    grown = [row["megabytes"] - row["before"] for row in rows]
    curves = [Curve("ours", tokens, grown)]
    page.plot("speed-memory", "Memory of tagging one Doc.", [Panel("", "tokens of the Doc", "MB", curves)])
    bars = []
    for name, (trained, max_megabytes) in TRAININGS.items():
        title, peak = f"Memory, peak of training {trained}", figures["trainings"][name]
        if peak:
            bars.append(Bar(title, peak, at_most=max_megabytes, unit="MB"))
        else:
            bars.append(missing(title, "its clock does not say", at_most=max_megabytes, unit="MB"))
    longest = rows[-1]
    speed = f"{longest['tokens'] / longest['seconds']:,.0f} tokens/s"
    bars.append(Bar(f"Memory, tagging a Doc of {longest['tokens']:,} tokens", grown[-1], unit="MB", ours=speed))
    if len(rows) == len(TOKENS):
        half, whole = (1e6 * megabytes / n for megabytes, n in zip(grown[-2:], tokens[-2:]))
        title = f"Memory, a token of a Doc of {tokens[-1]:,} beside one of {tokens[-2]:,}"
        bars.append(Bar(title, whole / half, at_most=GROWTH, ours=f"{whole:.0f} bytes", peer=f"ours: {half:.0f} bytes"))
    return bars
