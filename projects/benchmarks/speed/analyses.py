"""Scores, n-best and explanations: what they cost beside a plain prediction of the same sentences."""

from statistics import median
from typing import Any

import spacy
from papers.page import Page

from spacy_ssvm.pipeline.facts import INVERSE_TEMPERATURE

from . import corpora, models
from .bars import Bar
from .clock import Contender, race, ratio
from .settings import Settings

COMPONENTS = {
    "ours-ewt": ("tagger", "ewt", "scored_tags"),
    "ours-ner-dutch": ("ner", "conll2002-ned", "scored_ents"),
    "ours-parser-1": ("parser", "ewt", "scored_parses"),
}
"""For each model its component, corpus and the method that scores."""
BETA = 4.0
"""Near what such components are calibrated to. By a smaller one, more has a probability that is worth listing."""
SENTENCES = 300
BEST = 5
PLAIN = "prediction"
COLUMNS = (PLAIN, "margins", "probabilities", f"{BEST} best", "explain")


def measure(settings: Settings) -> dict[str, Any]:
    return {name: _race(settings, name) for name in COMPONENTS}


def _race(settings: Settings, name: str) -> dict[str, Any]:
    component, files, scored = COMPONENTS[name]
    sentences = corpora.read(settings.data / f"{files}-dev.spacy", min(settings.limit or SENTENCES, SENTENCES))
    nlp = spacy.load(models.model(settings.training, name), enable=component)
    pipe: Any = nlp.get_pipe(component)

    def probabilities(docs: Any) -> None:
        before, pipe.cfg = pipe.cfg, {**pipe.cfg, INVERSE_TEMPERATURE: BETA}
        getattr(pipe, scored)(docs)
        pipe.cfg = before

    runs = (
        lambda docs: list(nlp.pipe(docs)),
        lambda docs: getattr(pipe, scored)(docs),
        probabilities,
        lambda docs: [pipe.kbest(doc, BEST) for doc in docs],
        lambda docs: [pipe.explain(doc) for doc in docs],
    )
    contenders = {
        column: Contender(lambda: corpora.tagged(nlp.vocab, sentences), run) for column, run in zip(COLUMNS, runs)
    }
    return {"tokens": corpora.n_tokens(sentences), "seconds": race(contenders, settings.rounds)}


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Scores, n-best and explanations", 3)
    page.text(
        f"µs of CPU a token of {SENTENCES} sentences of development data, each a Doc of its own, and, in brackets, how "
        "many times as long as plain prediction. Margins are those of the best analysis without a tag, entity or arc, "
        f"probabilities exact marginals by β = {BETA}; an explanation decodes anew without each tag, entity and arc."
    )
    rows = []
    for name, record in figures.items():
        seconds, tokens = record["seconds"], record["tokens"]
        cells = [
            f"{1e6 * median(seconds[column]) / tokens:,.1f} ({ratio(seconds, column, PLAIN):.1f})" for column in COLUMNS
        ]
        rows.append([COMPONENTS[name][0], *cells])
    page.table(["component", *COLUMNS], rows)
    return []
