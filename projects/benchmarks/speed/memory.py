"""Memory: of training, from its clock, and of one very long Doc, each length in a process of its own."""

import json
from typing import Any

import srsly
from papers.page import Curve, Page, Panel

from . import models
from .bars import Bar, figure, missing
from .clock import spend
from .settings import Settings

TOKENS = (1_000, 250_000, 500_000, 1_000_000)
MOST_TRAINING = 1000
SCRIPT = """
import json, sys, time
import spacy
from scripts.peak_memory import peak_memory
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
    clock = list(srsly.read_jsonl(path.parent / "clock.jsonl"))
    return {
        "training": max((row.get("megabytes", 0) for row in clock), default=0),
        "doc": [
            json.loads(spend(["-c", SCRIPT, str(path), str(corpus), str(n)]).output.splitlines()[-1]) for n in numbers
        ],
    }


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Memory", 3)
    page.text("One Doc in a fresh process, tagged: peak memory of the process before and after.")
    rows = figures["doc"]
    page.table(
        ["tokens", "tokens/s", "MB before", "MB after", "bytes a token"],
        [
            [
                f"{row['tokens']:,}",
                figure(row["tokens"] / row["seconds"]),
                f"{row['before']:.0f}",
                f"{row['megabytes']:.0f}",
                figure(1e6 * (row["megabytes"] - row["before"]) / row["tokens"]),
            ]
            for row in rows
        ],
        texts=0,
    )
    tokens = [row["tokens"] for row in rows]
    curves = [Curve("peak memory", tokens, [row["megabytes"] for row in rows])]
    page.plot("speed-memory", "Memory of the tagger on one Doc.", [Panel("", "tokens of the Doc", "MB", curves)])
    title = "Memory, peak of training the EWT tagger"
    bars = [
        Bar(title, figures["training"], at_most=MOST_TRAINING, unit="MB")
        if figures["training"]
        else missing(title, "its clock does not say", at_most=MOST_TRAINING, unit="MB")
    ]
    if len(rows) == len(TOKENS):
        half, whole = ((row["megabytes"] - row["before"]) / row["tokens"] for row in rows[-2:])
        bars.append(
            Bar(
                "Memory, a token of a Doc of 1,000,000 beside one of 500,000",
                whole / half,
                at_most=1.25,
                ours=f"{1e6 * whole:.0f} bytes",
                peer=f"ours: {1e6 * half:.0f} bytes",
            )
        )
    return bars
