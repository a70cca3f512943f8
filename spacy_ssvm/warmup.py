"""Compile all kernels ahead of their first use: for Docker images, benchmarks, and before forking."""

import tempfile
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from . import kernels
from .features.index import empty_table, grown
from .pipeline.component import SsvmPipe
from .registry import ssvm_solvers
from .structures.tree.decoders import DECODERS

CHAINS = ("ssvm_senter", "ssvm_tagger", "ssvm_ner")


def warmup() -> list[kernels.CacheStatistics]:
    """Train, save, load and run every component with every solver on three sentences.

    Returns the cache statistics of all kernels: what was found on disk and what was compiled.
    """
    kernels.LOGGER.disabled = True  # that a solver is done after two sentences is no news
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a token without a gold label is there on purpose
            phrases = Path(folder) / "phrases.txt"
            phrases.write_text("an example\n", encoding="utf8")
            for solver in ssvm_solvers.get_all():
                with suppress(ImportError):  # a solver whose extra is not installed will not be used either
                    _run(solver, str(phrases))
            for decoder in DECODERS.values():
                decoder.compile()
    finally:
        kernels.LOGGER.disabled = False
    return kernels.cache_statistics()


def _run(solver: str, phrases: str) -> None:
    nlp = spacy.blank("en")
    features = {
        "@ssvm_features": "spacy-ssvm.Templates.v1",
        "templates": ["word[0]", "gazetteer.phrases[0]"],
        "gazetteers": {"phrases": phrases},
    }
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    for component in CHAINS:
        nlp.add_pipe(component, config={"solver": {"@ssvm_solvers": solver}, "model": model})
    arcs = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "hash_bits": 8, "label_hash_bits": 8}
    # But for their decoders all structures of trees are in the same kernels; every solver can learn those of order 1.
    tree = {"@architectures": "spacy-ssvm.Tree.v1", "order": 1, "features": arcs}
    nlp.add_pipe("ssvm_parser", config={"solver": {"@ssvm_solvers": solver}, "model": tree})
    sentences: list[list[str | None]] = [["An", "example"], ["Another", None], ["One", "more"]]
    examples = [_example(nlp.vocab, words) for words in sentences]
    nlp.initialize(partial(list, examples[:2]))
    nlp.update(examples[:2])
    nlp.update(examples)
    for name in nlp.pipe_names:
        pipe = cast(SsvmPipe, nlp.get_pipe(name))
        pipe.certificate()
        pipe.predict([examples[0].predicted])
        pipe.from_bytes(pipe.to_bytes())
        pipe.predict([examples[0].predicted])
    grown(empty_table(), 1 << 17)


def _example(vocab: Any, words: list[str | None]) -> Example:
    tokens = [word or "x" for word in words]
    reference = Doc(
        vocab,
        words=tokens,
        tags=["" if word is None else word.lower() for word in words],
        ents=["B-THING", *(["O"] * (len(words) - 1))],
        heads=[0] * len(words),
        deps=["" if word is None else "ROOT" if place == 0 else "dep" for place, word in enumerate(words)],
    )
    return Example(Doc(vocab, words=tokens), reference)
