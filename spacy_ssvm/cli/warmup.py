"""`spacy ssvm warmup`: compiles all kernels before their first use, for Docker images and before forking."""

import logging
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from wasabi import msg

from ..registry import ssvm_solvers

if TYPE_CHECKING:
    from ..kernels import CacheStatistics

ALWAYS = {"kappa1": 0, "check_oracle": True}
"""Settings, for all solvers that have them, that run kernels which the defaults run late or never."""
ALTERNATIVES: dict[str, Sequence[dict[str, Any]]] = {
    "spacy-ssvm.MIRA.v1": [{"k": 2}],
    "spacy-ssvm.PredictionMIRA.v1": [{"k": 2}],
    "spacy-ssvm.SGD.v1": [{"beta": 1.0}],
    "spacy-ssvm.DCA.v1": [{"beta": "inf"}],
    "spacy-ssvm.SAP.v1": [{"nu": 1.0}, {"batch": True}],
}
"""Settings with which a solver runs other kernels than with its defaults."""
SCORED = ("scored_tags", "scored_ents", "scored_starts", "scored_parses")
WRONG = "wrong"
"""The key in doc.spans of incorrect entities."""
LIMITS = [{"patterns": [[{"LOWER": "more"}]], "forbid": ["ROOT"]}]
"""Rules of the parser, which match in the last sentence only."""
STRUCTURES = [("projective", 1), ("projective", 2), ("projective", 3), ("nonprojective", 1), ("nonprojective", 2)]
WITH_PROBABILITIES = {"@ssvm_solvers": "spacy-ssvm.SGD.v1", "beta": 1.0}


def warmup() -> "list[CacheStatistics]":
    """Train, save, load, correct and run every component with every solver on three sentences.

    Returns the cache statistics of all kernels: which were loaded from disk, and which were compiled.
    """
    from ..corpus.jackknife import Jackknife
    from ..features.index import empty_table, grown
    from ..kernels import cache_statistics
    from ..solvers.working_set import empty, trim

    logger = logging.getLogger("spacy")
    logger.disabled = True  # Solvers reach their tolerance at once.
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # A token lacks its gold label on purpose.
            phrases = Path(folder) / "phrases.txt"
            phrases.write_text("an example\n", encoding="utf8")
            for name, solver in ssvm_solvers.get_all().items():
                for settings in ({}, *ALTERNATIVES.get(name, [])):
                    with suppress(ImportError):  # the solver needs an extra that is not installed
                        known = {field.name for field in fields(solver(**settings))}
                        always = {key: value for key, value in ALWAYS.items() if key in known}
                        _run(_pipeline({"@ssvm_solvers": name, **always, **settings}, str(phrases)))
            for structure, order in STRUCTURES:
                _run(_parser({"@ssvm_solvers": "spacy-ssvm.DCD.v1"}, structure, order))
            _run(_parser(WITH_PROBABILITIES, "nonprojective", 1))
            # What is too large for three sentences, and tags that a reader of corpora predicts.
            grown(empty_table(), 1 << 17)
            trim(empty(1))
            words = [Doc(spacy.blank("en").vocab, words=["one"])] * 2
            Jackknife(words, 2, 0).predict(np.ones(2, np.uint64), "tags")
    finally:
        logger.disabled = False
    return cache_statistics()


def warmup_command() -> None:
    """Compile the kernels of every component and solver, or load them from the disk cache."""
    started = time.perf_counter()
    statistics = warmup()
    misses = sum(kernel.misses for kernel in statistics)
    msg.good(f"{len(statistics)} kernels ready in {time.perf_counter() - started:.1f} s ({misses} compiled)")


def _pipeline(solver: dict[str, Any], phrases: str) -> Language:
    """A pipeline of all components; the parser has a structure that every solver can learn."""
    nlp = _parser(solver, "projective", 1)
    nlp.add_pipe("ssvm_senter", config={"solver": solver})
    nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    features = {"@ssvm_features": "spacy-ssvm.NerFeatures.v1", "gazetteers": {"phrases": phrases}}
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    nlp.add_pipe("ssvm_ner", config={"solver": solver, "model": model, "incorrect_spans_key": WRONG})
    return nlp


def _parser(solver: dict[str, Any], structure: str, order: int) -> Language:
    nlp = spacy.blank("en")
    arcs = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "hash_bits": 8, "label_hash_bits": 8}
    model = {"@architectures": "spacy-ssvm.Tree.v1", "structure": structure, "order": order, "margin": 0.0}
    nlp.add_pipe("ssvm_parser", config={"solver": solver, "model": {**model, "features": arcs}, "patterns": LIMITS})
    return nlp


def _run(nlp: Language) -> None:
    sentences: list[list[str | None]] = [["An", "example", "of", "four"], ["Another", None], ["One", "more"]]
    # The first pass learns from two sentences, and drops the heads of the third one.
    examples = [_example(nlp.vocab, words, root) for words, root in zip(sentences, [0, 0, 1])]
    nlp.initialize(partial(list, examples[:2]))
    nlp.update(examples[:2])
    nlp.update(examples)
    doc = examples[0].predicted
    for name in nlp.pipe_names:
        pipe: Any = nlp.get_pipe(name)
        pipe.certificate()
        pipe.predict([doc])
        pipe.predict([examples[-1].predicted])
        pipe.from_bytes(pipe.to_bytes())
        pipe.update(examples)
        pipe.predict([doc])
        with suppress(ValueError):  # the structure is not decoded exactly
            pipe.kbest(doc, 2)
            for method in SCORED:
                if hasattr(pipe, method):
                    getattr(pipe, method)([doc])
            pipe.explain(doc)


def _example(vocab: Any, words: list[str | None], root: int) -> Example:
    tokens = [word or "x" for word in words]
    reference = Doc(
        vocab,
        words=tokens,
        tags=["" if word is None else word.lower() for word in words],
        ents=["B-THING", *("" if word is None else "O" for word in words[1:])],
        heads=[root] * len(words),
        deps=["" if word is None else "ROOT" if place == root else "dep" for place, word in enumerate(words)],
    )
    reference.spans[WRONG] = [Span(reference, k, k + 1, "THING") for k, word in enumerate(words) if word is None]
    return Example(Doc(vocab, words=tokens), reference)
