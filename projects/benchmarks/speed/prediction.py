"""Prediction: `nlp.pipe` on Docs made anew outside the clock, one thread, warm, beside spaCy and CRFsuite."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from shared.page import Curve, Page, Panel
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab

from . import corpora, crf, models
from .bars import Bar, figure
from .clock import Contender, race, ratio
from .corpora import Sentence
from .settings import Settings

CHAINS = {"ewt": ("tagger", "ewt"), "ner-dutch": ("named entities", "conll2002-ned")}
WANTED = {"ewt": 25, "ner-dutch": 40, "parser": 8, "pipeline": 8}
"""How many times the speed of spaCy's components."""
LENGTHS = (10, 100, 1_000, 10_000, 100_000)
"""Tokens of a Doc."""
LENGTHS_ROUNDS = 3


def measure(settings: Settings) -> dict[str, Any]:
    figures: dict[str, Any] = {"peers": {}}
    for corpus, (_, files) in CHAINS.items():
        sentences = corpora.read(settings.data / f"{files}-test.spacy", settings.limit)
        figures[corpus] = _race(_chains(settings.training, corpus, sentences), sentences, settings.rounds)
        figures["peers"][corpus] = models.find(settings.training, corpus).parent.name
    sentences = corpora.read(settings.data / "ewt-test.spacy", settings.limit)
    figures["parser"] = _race(_parsers(settings.training, sentences), sentences, settings.rounds)
    figures["peers"]["parser"] = models.find(settings.training, "parser").parent.name
    figures["pipeline"] = _race(_pipelines(settings.training, sentences), sentences, settings.rounds)
    figures["lengths"] = _lengths(settings)
    return figures


def _race(contenders: dict[str, Contender], sentences: Sequence[Sentence], rounds: int) -> dict[str, Any]:
    return {"tokens": corpora.n_tokens(sentences), "seconds": race(contenders, rounds)}


def _piped(
    nlp: Any, sentences: Sequence[Sentence], make: Callable[[Vocab, Sequence[Sentence]], list[Doc]] = corpora.bare
) -> Contender:
    return Contender(lambda: make(nlp.vocab, sentences), lambda docs: list(nlp.pipe(docs)))


def _chains(training: Path, corpus: str, sentences: Sequence[Sentence]) -> dict[str, Contender]:
    features = crf.Features(models.templates(training, f"ours-{corpus}"))
    tagger = crf.load(models.model(training, f"crfsuite-{corpus}"))
    words = [sentence.words for sentence in sentences]

    def tagged_by(extract: crf.Extract) -> Contender:
        return Contender(lambda: words, lambda read: [tagger.tag(extract(sentence)) for sentence in read])

    return {
        "ours": _piped(spacy.load(models.model(training, f"ours-{corpus}")), sentences),
        "spaCy": _piped(spacy.load(models.find(training, corpus)), sentences),
        "CRFsuite, plain": tagged_by(features.plain),
        "CRFsuite, memoised": tagged_by(features.memoised),
    }


def _parsers(training: Path, sentences: Sequence[Sentence]) -> dict[str, Contender]:
    """Parsers alone, on gold tags and sentences."""
    names = {1: "ours-parser-1", 2: "ours-parser-2", 3: "ours-parser"}
    ours = {
        order: spacy.load(models.model(training, name), exclude=["tagger", "pos_tagger"])
        for order, name in names.items()
    }
    return {
        **{f"ours, order {order}": _piped(nlp, sentences, corpora.tagged) for order, nlp in ours.items()},
        "spaCy": _piped(spacy.load(models.find(training, "parser"), exclude=["tagger"]), sentences, corpora.tagged),
    }


def _pipelines(training: Path, sentences: Sequence[Sentence]) -> dict[str, Contender]:
    """Whole pipelines on the raw text of documents."""
    texts = [
        " ".join(" ".join(sentence.words) for sentence in several) for several in minibatch(sentences, models.DOCUMENT)
    ]
    pipelines = {"ours": models.pipeline(training), "spaCy": spacy.load(models.model(training, "quick-pipeline"))}
    return {
        name: Contender(lambda: texts, lambda read, nlp=nlp: list(nlp.pipe(read))) for name, nlp in pipelines.items()
    }


def _lengths(settings: Settings) -> list[dict[str, Any]]:
    """Brown's words in Docs of more and more tokens."""
    sentences = corpora.read(settings.data / "brown-test.spacy", settings.limit)
    words = [word for sentence in sentences for word in sentence.words][: LENGTHS[-1]]
    rows = []
    pipelines = {
        "ours": spacy.load(models.model(settings.training, "ours-ewt")),
        "spaCy": spacy.load(models.find(settings.training, "ewt")),
    }
    for length in (length for length in LENGTHS if length <= len(words)):
        parts = [Sentence(list(part), [], [], []) for part in minibatch(words, length)]
        contenders = {name: _piped(nlp, parts) for name, nlp in pipelines.items()}
        record = _race(contenders, parts, min(settings.rounds, LENGTHS_ROUNDS))
        rows.append({"length": length, **record})
    return rows


def lengths_panel(figures: dict[str, Any]) -> Panel:
    """The time of a token by the length of a Doc."""
    lengths = figures["lengths"]
    curves = [
        Curve(
            who,
            [row["length"] for row in lengths],
            [1e6 * median(row["seconds"][who]) / row["tokens"] for row in lengths],
        )
        for who in ("ours", "spaCy")
    ]
    return Panel("Tagger on Brown", "tokens of a Doc", "µs of CPU a token", curves, log="xy")


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Prediction", 3)
    page.text(
        "Tokens a second of CPU time. Taggers and named entities on Docs of words, "
        "CRFsuite from lists of words to lists of labels, its features the strings that our templates make: plain, "
        "each made anew for each token, or memoised, those of a single word once for each distinct word. Parsers alone "
        "on gold tags and sentences. Pipelines from raw text of ten sentences: ours has five components and the "
        "tokenizer (sentences, fine and coarse tags, trees, entities), spaCy's its shared `tok2vec`, tags, trees "
        f"(which make the sentences) and entities. spaCy's models: {', '.join(figures['peers'].values())}, "
        "quick-pipeline; “quick” ones were trained for some hundred steps only."
    )
    speeds = {
        name: {who: record["tokens"] / median(times) for who, times in record["seconds"].items()}
        for name, record in figures.items()
        if name in (*CHAINS, "parser", "pipeline")
    }
    panel = lengths_panel(figures)
    page.plot("speed-lengths", "What a token costs in shorter and longer Docs.", [panel])
    ours = panel.curves[0]

    def bar(task: str, name: str, rival: str, at_least: float | None, mine: str = "ours") -> Bar:
        seconds, speed = figures[task]["seconds"], speeds[task]
        return Bar(
            name,
            ratio(seconds, rival, mine),
            at_least,
            ours=f"{figure(speed[mine])} tokens/s",
            peer=f"{rival}: {figure(speed[rival])} tokens/s",
        )

    bars = []
    for corpus, (name, _) in CHAINS.items():
        bars += [
            bar(corpus, f"Prediction, {name}, spaCy", "spaCy", WANTED[corpus]),
            bar(corpus, f"Prediction, {name}, CRFsuite, plain extraction", "CRFsuite, plain", 5),
            bar(corpus, f"Prediction, {name}, CRFsuite, memoised extraction", "CRFsuite, memoised", 2),
        ]
    bars += [
        bar("parser", f"Prediction, parser of order {order}, spaCy", "spaCy", at_least, f"ours, order {order}")
        for order, at_least in {1: None, 2: None, 3: WANTED["parser"]}.items()
    ]
    title = "Prediction, from raw text to trees and entities, spaCy's four components"
    bars.append(bar("pipeline", title, "spaCy", WANTED["pipeline"]))
    if len(ours.x) > 1:
        first, last = ours.y[1], ours.y[-1]
        bars.append(
            Bar(
                f"Prediction, a token in Docs of {ours.x[-1]:,} tokens beside {ours.x[1]:,}",
                last / first,
                ours=f"{last:.2f} µs",
                peer=f"ours: {first:.2f} µs",
            )
        )
    return bars
