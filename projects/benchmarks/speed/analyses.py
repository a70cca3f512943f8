"""Scores, n-best and explanations: what they cost beside a plain prediction of the same sentences."""

from statistics import median
from typing import Any

import spacy
from shared.page import Page

from spacy_ssvm.pipeline.training_record import INVERSE_TEMPERATURE

from . import corpora, models
from .bars import Bar
from .clock import Contender, race, ratio
from .settings import Settings

COMPONENTS = {
    "ours-ewt": ("tagger", "tagger", "ewt", "scored_tags"),
    "ours-ner-dutch": ("ner", "named entities", "conll2002-ned", "scored_ents"),
    "ours-parser-1": ("parser", "parser of order 1", "ewt", "scored_parses"),
    "ours-parser": ("parser", "parser of order 3", "ewt", "scored_parses"),
}
"""For each model its component, what that is, its corpus and the method that scores."""
WITHOUT_SUMS = "ours-parser"
"""The model whose structure has no exact sums, and so no probabilities."""
BETA = 4.0
"""Near what such components are calibrated to. By a smaller one, more has a probability that is worth listing."""
SENTENCES = 300
BEST = 5
PLAIN = "prediction"
REASONS = "explain, reasons read"
WANTED = {"margins": 3, "probabilities": 3, f"{BEST} best": None, "explain": 20, REASONS: None}
"""How many times as long as plain prediction each may take."""


def measure(settings: Settings) -> dict[str, Any]:
    return {name: _race(settings, name) for name in COMPONENTS}


def _race(settings: Settings, name: str) -> dict[str, Any]:
    component, _, files, scored = COMPONENTS[name]
    sentences = corpora.read(settings.data / f"{files}-dev.spacy", min(settings.limit or SENTENCES, SENTENCES))
    nlp = spacy.load(models.model(settings.training, name), enable=component)
    pipe: Any = nlp.get_pipe(component)

    def probabilities(docs: Any) -> None:
        before, pipe.cfg = pipe.cfg, {**pipe.cfg, INVERSE_TEMPERATURE: BETA}
        getattr(pipe, scored)(docs)
        pipe.cfg = before

    runs = {
        PLAIN: lambda docs: list(nlp.pipe(docs)),
        "margins": lambda docs: getattr(pipe, scored)(docs),
        "probabilities": probabilities,
        f"{BEST} best": lambda docs: [pipe.kbest(doc, BEST) for doc in docs],
        "explain": lambda docs: [pipe.explain(doc) for doc in docs],
        REASONS: lambda docs: [finding.reasons for doc in docs for finding in pipe.explain(doc).findings],
    }
    if name == WITHOUT_SUMS:
        del runs["probabilities"]
    # Tags would be constraints of a tagger, and of Docs that it does not know it would first predict them anew.
    docs = corpora.tagged if component == "parser" else corpora.bare
    contenders = {column: Contender(lambda: docs(nlp.vocab, sentences), run) for column, run in runs.items()}
    return {"tokens": corpora.n_tokens(sentences), "seconds": race(contenders, settings.rounds)}


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Scores, n-best and explanations", 3)
    page.text(
        f"µs of CPU a token of {SENTENCES} sentences of development data, each a Doc of its own, and, in brackets, how "
        "many times as long as plain prediction. Margins are those of the best analysis without a tag, entity or arc, "
        f"probabilities exact marginals by β = {BETA}. Reasons of an explanation are worked out when they are read: "
        "the sentence is then decoded anew without the tag, entity or arc."
    )
    rows, bars = [], []
    for name, record in figures.items():
        seconds, tokens, what = record["seconds"], record["tokens"], COMPONENTS[name][1]
        cells = []
        for column in (PLAIN, *WANTED):
            if column not in seconds:
                cells.append(None)
                continue
            times = ratio(seconds, column, PLAIN)
            cells.append(f"{1e6 * median(seconds[column]) / tokens:,.1f} ({times:.1f})")
            if WANTED.get(column) is not None:
                bars.append(Bar(f"Time of {column} beside prediction, {what}", times, at_most=WANTED[column]))
        rows.append([what, *cells])
    page.table(["component", PLAIN, *WANTED], rows)
    return bars
