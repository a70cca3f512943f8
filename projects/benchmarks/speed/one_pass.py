"""A pass over texts that a fresh process has not seen, after others have warmed it, and a second pass over them."""

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.util import minibatch

from . import corpora, models

KINDS = ("text", "words", "parses")
Reader = Callable[[Path], Sequence[Any]]
"""The items of a corpus, made outside the clock."""
Runner = Callable[[Sequence[Any]], object]
"""What is timed, for some items."""


def spacy_reader(nlp: Any, kind: str, limit: int | None) -> tuple[Reader, Runner]:
    """Items of raw text, Docs of words, or Docs of a sentence that all components but the parser have annotated."""

    def read(path: Path) -> Sequence[Any]:
        docs = corpora.read_docs(path, limit)
        if kind == "text":
            return documents(docs)
        made = [Doc(nlp.vocab, [token.text for token in doc], sent_starts=starts(doc)) for doc in docs]
        if kind == "parses":
            with nlp.select_pipes(disable=[name for name in ("parser", "tok2vec") if name in nlp.pipe_names]):
                made = list(nlp.pipe(made))
        return made

    def run(items: Sequence[Any]) -> None:
        with nlp.select_pipes(enable=["parser", "tok2vec"] if kind == "parses" else nlp.pipe_names):
            for _ in nlp.pipe(items):
                pass

    return read, run


def starts(doc: Doc) -> list[bool]:
    """A sentence that begins with the Doc."""
    return [True, *[False] * (len(doc) - 1)]


def documents(docs: Sequence[Doc]) -> list[str]:
    """Raw texts of several sentences each."""
    return [" ".join(doc.text.strip() for doc in several) for several in minibatch(docs, models.DOCUMENT)]


def udpipe_reader(model: Path, limit: int | None) -> tuple[Reader, Runner]:
    """Raw texts to sentences, tags and trees in CoNLL-U, as UDPipe gives them."""
    from ufal.udpipe import Model, Pipeline

    loaded = Model.load(str(model))
    if loaded is None:
        raise FileNotFoundError(f"{model} is no model of UDPipe")
    pipeline = Pipeline(loaded, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")

    def run(texts: Sequence[Any], model: Any = loaded) -> list[str]:
        # The pipeline does not keep its model alive.
        return [pipeline.process(text) for text in texts]

    return lambda path: documents(corpora.read_docs(path, limit)), run


def seconds(run: Runner, items: Sequence[Any]) -> float:
    gc.collect()
    started = time.process_time()
    run(items)
    return time.process_time() - started


def latencies(run: Runner, items: Sequence[Any]) -> list[float]:
    """Seconds on the wall of each item alone."""
    times = []
    for item in items:
        started = time.perf_counter()
        run([item])
        times.append(time.perf_counter() - started)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a pipeline, a model of UDPipe (NAME.udpipe), or a folder of models: all of ours")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("warm", type=Path)
    parser.add_argument("unseen", type=Path)
    parser.add_argument("--exclude", nargs="*", default=[], metavar="COMPONENT")
    parser.add_argument("--limit", type=int, help="sentences of each corpus at most")
    given = parser.parse_args()
    path = Path(given.model)
    if path.suffix == ".udpipe":
        read, run = udpipe_reader(path, given.limit)
    elif path.is_dir() and not (path / "meta.json").exists():
        read, run = spacy_reader(models.pipeline(path), given.kind, given.limit)
    else:
        read, run = spacy_reader(spacy.load(given.model, exclude=given.exclude), given.kind, given.limit)
    run(read(given.warm))
    docs = corpora.read_docs(given.unseen, given.limit)
    # Docs that are annotated are not annotated again: each pass has Docs of its own.
    passes = [seconds(run, items) for items in (read(given.unseen), read(given.unseen))]
    alone = latencies(run, read(given.unseen))
    print(
        json.dumps(
            {
                "tokens": sum(map(len, docs)),
                "unseen": passes[0],
                "repeated": passes[1],
                "alone": [float(value) for value in np.quantile(alone, [0.5, 0.99])],
            }
        )
    )


if __name__ == "__main__":
    main()
