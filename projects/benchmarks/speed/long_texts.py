"""Texts without sentence boundaries: what a token costs a parser, with and without pruning, at any length."""

import random
import time
from typing import Any

import spacy
from shared.page import Curve, Page, Panel
from spacy.tokens import Doc
from spacy.training import Example

from . import corpora
from .bars import Bar, figure
from .settings import Settings

MODELS = {
    "projective, order 3": {},
    "without pruning": {"max_heads": 0},
    "non-projective, order 2": {"structure": "nonprojective", "order": 2},
    "non-projective, without pruning": {"structure": "nonprojective", "order": 2, "max_heads": 0},
}
SENTENCES, EPOCHS = 600, 3
"""Enough for candidates like those of other parsers; every parser learns in some seconds."""
LENGTHS = (50, 100, 250, 500, 1000, 5000, 100_000)
CORRECTED = (500, 1000, 5000)
MAX_MILLISECONDS = 3.0


def measure(settings: Settings) -> dict[str, Any]:
    docs = corpora.read_docs(settings.data / "ewt-train.spacy", min(settings.limit or SENTENCES, SENTENCES))
    words = [token for doc in docs for token in doc]
    # In an order that no parser is sure of.
    random.Random(0).shuffle(words)
    lengths = [length for length in LENGTHS if settings.limit is None or length <= 1000]
    return {name: _figures(model, docs, words, lengths) for name, model in MODELS.items()}


def _figures(model: dict[str, Any], docs: list[Doc], words: list[Any], lengths: list[int]) -> dict[str, Any]:
    """CPU milliseconds a token of a prediction and of a correction, by length."""
    features = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1"}
    nlp = spacy.blank("en")
    config = {"model": {"@architectures": "spacy-ssvm.Tree.v1", "features": features, **model}}
    parser = nlp.add_pipe("ssvm_parser", config=config)
    examples = [Example(_unparsed(nlp, list(doc)), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    for _ in range(EPOCHS):
        nlp.update(examples)
    trained = parser.to_bytes()
    rows = []
    for length in (lengths[0], *lengths):
        # Whatever the last correction has taught.
        parser.from_bytes(trained)
        tokens = (words * (1 + length // len(words)))[:length]
        doc = _unparsed(nlp, tokens)
        predicting = _seconds(lambda doc=doc: parser(doc))
        learning = None
        if length in CORRECTED or not rows:
            # Each word has the head before it, which no parser expects.
            gold = Doc(
                nlp.vocab,
                words=[token.text for token in tokens],
                heads=[0, *range(length - 1)],
                deps=["ROOT"] + ["dep"] * (length - 1),
            )
            learning = _seconds(lambda gold=gold, tokens=tokens: nlp.update([Example(_unparsed(nlp, tokens), gold)]))
        rows.append([length, *(seconds and 1000 * seconds / length for seconds in (predicting, learning))])
    # The first row has loaded the kernels.
    return {"rows": rows[1:]}


def _unparsed(nlp: Any, tokens: list[Any]) -> Doc:
    """A Doc of these tokens as one sentence."""
    texts, tags, pos = zip(*((token.text, token.tag_, token.pos_) for token in tokens))
    return Doc(nlp.vocab, words=texts, tags=tags, pos=pos, sent_starts=[True, *[False] * (len(tokens) - 1)])


def _seconds(run: Any) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Texts without sentence boundaries", 3)
    page.text(
        f"CPU milliseconds a token of parsing, and of one update of a loaded parser: words of EWT in random order, as "
        f"a single sentence, by parsers that have learnt from {SENTENCES} sentences."
    )
    lengths = [row[0] for row in next(iter(figures.values()))["rows"]]
    page.table(
        ["parser", "", *(f"{length:,}" for length in lengths)],
        [
            [name, what, *(None if row[place] is None else figure(row[place]) for row in found["rows"])]
            for name, found in figures.items()
            for place, what in enumerate(("parsing", "update"), 1)
        ],
        texts=2,
    )
    curves = [Curve(name, lengths, [row[1] for row in found["rows"]]) for name, found in figures.items()]
    page.plot("speed-long-texts", "Parsing texts without boundaries.", [Panel("CPU", "tokens", "ms a token", curves)])
    bars = []
    for place, what in enumerate(("Parsing", "Correcting"), 1):
        worst, length, name = max(
            (row[place] or 0.0, row[0], name) for name, found in figures.items() for row in found["rows"]
        )
        ours = f"{name}, {length:,} tokens"
        bars.append(
            Bar(
                f"{what} a text without boundaries, a token at any length",
                worst,
                at_most=MAX_MILLISECONDS,
                unit="ms",
                ours=ours,
            )
        )
    return bars
