"""Where the time of one token goes: the steps of prediction called one after the other, each with its own clock.

Beside it stands the memory that a token touches, and the time that memory alone would take.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
import spacy
from shared.page import Page
from spacy.tokens import Doc
from spacy.util import minibatch

from spacy_ssvm.features.index import look_up_features
from spacy_ssvm.features.templates import select
from spacy_ssvm.models.chain.type_sums import SharedScores

from . import corpora, models
from .bars import Bar
from .corpora import Sentence
from .prediction import CHAINS
from .settings import Settings

LINE = 64
"""Bytes of a cache line."""
STEPS = ["Doc handling", "columns", "look-ups", "rows", "decoder", "annotation", "the rest"]
COPIED = 1 << 28
"""Bytes of the array whose copying tells the memory's bandwidth."""


def measure(settings: Settings) -> dict[str, Any]:
    figures: dict[str, Any] = {"bytes/s": _bandwidth()}
    for corpus, (_, files) in CHAINS.items():
        sentences = corpora.read(settings.data / f"{files}-test.spacy", settings.limit)
        nlp = spacy.load(models.model(settings.training, f"ours-{corpus}"))
        rounds = [_steps(nlp, sentences) for _ in range(settings.rounds + 1)]
        figures[corpus] = {
            "tokens": corpora.n_tokens(sentences),
            "rounds": rounds[1:],
            "bytes": _bytes(nlp, corpora.bare(nlp.vocab, sentences)),
        }
    return figures


def _steps(nlp: Any, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Seconds of each step, and of the whole."""
    ((_, pipe),) = nlp.pipeline
    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - started

    docs = corpora.bare(nlp.vocab, sentences)
    with step("whole"):
        list(nlp.pipe(docs))
    docs = corpora.bare(nlp.vocab, sentences)
    with nlp.select_pipes(disable=nlp.pipe_names), step("Doc handling"):
        list(nlp.pipe(docs))
    decoder = pipe._predictor()
    extractor, scorer = decoder.extractor, decoder._labeller
    without_templates = select(extractor.split.rest, [])
    for batch in minibatch(corpora.bare(nlp.vocab, sentences), nlp.batch_size):
        with step("columns"):
            columns, types, preset = extractor.reader.read_types(batch, nlp.vocab, pipe.codec.kinds.attributes)
            kinds = pipe.codec.kinds.to_predict(batch, preset)
        with step("look-ups"):
            look_up_features(columns, extractor.split.rest, decoder._labeller.table)
        label = scorer.labelling(columns, types, kinds, decoder.constraints)
        with step("look-ups, rows and decoder"):
            labels = label()
        # The decoder by itself: each token has one entry, which holds its scores.
        scores = scorer.scores(columns, types, np.zeros_like(kinds), decoder.constraints)[:, np.newaxis]
        entries = np.concatenate([np.zeros((1, *scores.shape[1:])), scores])
        scored = SharedScores(np.arange(1, len(kinds) + 1), np.zeros(1, np.int64), entries)
        sums: Any = SimpleNamespace(of=lambda types, scored=scored: scored)
        by_itself = replace(scorer, program=without_templates, sums=sums)
        label = by_itself.labelling(columns, types, kinds, decoder.constraints)
        with step("decoder"):
            again = label()
        assert np.mean(labels == again) > 0.999  # but for sums in another order
        with step("annotation"):
            pipe.set_annotations(batch, np.split(labels, columns.starts[1:-1]))
    seconds["rows"] = seconds.pop("look-ups, rows and decoder") - seconds["look-ups"] - seconds["decoder"]
    seconds["the rest"] = seconds["whole"] - sum(seconds.get(name, 0.0) for name in STEPS)
    return seconds


def _bytes(nlp: Any, docs: list[Doc]) -> dict[str, float]:
    """Bytes of our own tables that a token touches: whole cache lines where it looks something up."""
    ((_, pipe),) = nlp.pipeline
    decoder = pipe._predictor()
    reader, split = decoder.extractor.reader, decoder.extractor.split
    columns, types, _ = reader.read_types(docs, nlp.vocab, pipe.codec.kinds.attributes)
    _, rows, _ = look_up_features(columns, split.rest, decoder._labeller.table)
    n_tokens, n_labels = len(types.ids), len(decoder.constraints.start)
    hits = len(rows) / n_tokens
    n_entries = np.diff(decoder._labeller.weights.starts)[rows].sum() / n_tokens
    return {
        "columns": 8 * len(reader.attributes) + 2 * LINE,  # and the slot of the word's type, key and number
        "look-ups": LINE * (len(split.rest.seeds) + hits),  # a line of keys each, and one of rows where it is found
        "rows": decoder._labeller.weights.entries.itemsize * n_entries + 8 * n_labels * len(split.groups.offsets),
        "decoder": 2 * 8 * n_labels,
        "annotation": 8,
    }


def _bandwidth() -> float:
    """Bytes a second that this machine reads and writes when it copies."""
    source = np.ones(COPIED // 8)
    target = np.zeros_like(source)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - started)
    return 2 * COPIED / median(seconds)


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("One token of prediction", 3)
    page.text(
        "Medians, µs of CPU. “Doc handling” is `nlp.pipe` without any component; the rest is what the whole takes "
        "beyond its steps. Of our own tables a token touches so many bytes, whole cache lines of what is looked up; at "
        f"the {figures['bytes/s'] / 1e9:.1f} GB/s of a copy they alone would take the time in the last column."
    )
    rows, profiles = [], {}
    for corpus, (name, _) in CHAINS.items():
        record = figures[corpus]
        micros = {
            step: 1e6 * median(round_.get(step, 0.0) for round_ in record["rounds"]) / record["tokens"]
            for step in [*STEPS, "whole"]
        }
        profiles[name] = micros
        record["bytes"]["whole"] = sum(record["bytes"].values())
        for step, micro in micros.items():
            touched = record["bytes"].get(step)
            alone = None if touched is None else f"{1e6 * touched / figures['bytes/s']:.3f}"
            rows.append([name, step, f"{micro:.3f}", None if touched is None else f"{touched:.0f}", alone])
    page.table(["component", "step", "µs", "bytes", "memory alone, µs"], rows, texts=2)
    page.bars("speed-token", "One token of prediction, in µs of CPU.", profiles, STEPS)
    return []
