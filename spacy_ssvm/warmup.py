"""Compile all kernels ahead of their first use: for Docker images, benchmarks, and before forking."""

import warnings
from functools import partial
from typing import Any, cast

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from . import kernels
from .pipeline.component import SsvmPipe
from .registry import ssvm_solvers


def warmup() -> list[kernels.CacheStatistics]:
    """Train and run every component with every solver on two sentences.

    Returns the cache statistics of all kernels: what was found on disk and what was compiled.
    """
    for solver in ssvm_solvers.get_all():
        settings: dict[str, Any] = {"@ssvm_solvers": solver}
        nlp = spacy.blank("en")
        for component in ("ssvm_tagger", "ssvm_ner"):
            nlp.add_pipe(component, config={"solver": settings})
        examples = [_example(nlp.vocab, ["An", "example", "here"]), _example(nlp.vocab, ["Another", "one", None])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a token without a gold label is there on purpose
            nlp.initialize(partial(list, examples))
        for _ in range(2):
            nlp.update(examples)
        for name in nlp.pipe_names:
            cast(SsvmPipe, nlp.get_pipe(name)).certificate()
        nlp.to_bytes()
        nlp(examples[0].predicted.copy())
    return kernels.cache_statistics()


def _example(vocab: Any, words: list[str | None]) -> Example:
    tokens = [word or "x" for word in words]
    reference = Doc(
        vocab,
        words=tokens,
        tags=["" if word is None else word.lower() for word in words],
        ents=["B-THING", *(["O"] * (len(words) - 1))],
    )
    return Example(Doc(vocab, words=tokens), reference)
