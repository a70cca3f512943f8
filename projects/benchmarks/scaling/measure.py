"""Measure what grows: DATA [--metrics METRICS] [--limit 40].

Writes METRICS/scaling.jsonl: the weights and the CPU seconds of an epoch by the tokens of a corpus, and what a token
costs the workers and the driver of `spacy ssvm apply`.
"""

import argparse
import logging
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shared import metrics
from shared.learning import initialize
from shared.machine import describe
from shared.training import parser_alone
from spacy.tokens import DocBin

from spacy_ssvm.distributed.annotation import Annotation, Annotator, cut

TABLE = "scaling"
GROWTH: list[tuple[str, str, tuple[float, ...]]] = [
    ("tagger", "ewt", (1 / 8, 1 / 4, 1 / 2, 1.0)),
    ("tagger", "brown", (1 / 8, 1 / 3, 1.0)),
    ("ner", "conll2002-ned", (1 / 8, 1 / 4, 1 / 2, 1.0)),
    ("parser", "ewt", (1 / 32, 1 / 16, 1 / 8)),
]
"""Component, corpus, and the shares of its sentences that are learnt."""
EPOCHS = 3


def growth(data: Path, limit: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Weights, and CPU seconds of the fastest epoch, of a process that learns alone."""
    for component, corpus, shares in GROWTH:
        path = data / f"{corpus}-train.spacy"
        n_sentences = min(limit or len(DocBin().from_disk(path)), len(DocBin().from_disk(path)))
        overrides = parser_alone("tag", "pos") if component == "parser" else {}
        for share in shares:
            ready = initialize(f"{component}/dcd", path, max(1, round(share * n_sentences)), **overrides)
            pipe, examples = ready.pipe, ready.examples
            seconds = min(timed(lambda nlp=ready.nlp, examples=examples: nlp.update(examples)) for _ in range(EPOCHS))
            yield (
                f"growth,{component},{corpus},{share:.3g}",
                {
                    "tokens": sum(len(example.reference) for example in examples),
                    "weights": pipe.problem().dimension,
                    "non_zeros": pipe.count_weights()[0],
                    "seconds": seconds,
                },
            )


def annotating(data: Path, limit: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """CPU seconds of a token: of a worker that tags and writes, and of the driver that cuts texts and sends them."""
    path = data / "ewt-train.spacy"
    ready = initialize("tagger/dcd", path, limit)
    for _ in range(EPOCHS):
        ready.nlp.update(ready.examples)
    docs = list(DocBin().from_disk(path).get_docs(ready.nlp.vocab))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "texts.txt", Path(folder) / "annotated"
        output.mkdir()
        source.write_text("".join(f"{' '.join(doc.text.split())}\n" for doc in docs), "utf8")
        n_bytes = source.stat().st_size
        cutting = timed(lambda: [pickle.dumps(shard) for shard in cut([source])])
        cutting_docs = timed(lambda: [pickle.dumps(shard) for shard in cut([path])])
        shards = list(cut([source]))
        annotate = Annotator(ready.nlp, Annotation(output))
        annotate(shards[0])  # loads the kernels
        begin = time.process_time()
        n_annotated = sum(annotate(shard).tokens for shard in shards)
        seconds = time.process_time() - begin
    yield (
        "annotating",
        {
            "tokens": n_annotated,
            "token": seconds / n_annotated,
            "cut": cutting / n_annotated,
            "text": n_bytes / n_annotated,
            "cut_docs": cutting_docs / sum(map(len, docs)),
        },
    )


def timed(run: Callable[[], Any]) -> float:
    """The CPU seconds that it takes."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    parser.add_argument("--limit", type=int, help="sentences of each corpus, for a test")
    given = parser.parse_args()
    logging.getLogger("spacy").setLevel(logging.ERROR)
    metrics.write(given.metrics, TABLE, "machine", describe())
    for part in (growth, annotating):
        for run, row in part(given.data, given.limit):
            print(run, row, flush=True)
            metrics.write(given.metrics, TABLE, run, row)


if __name__ == "__main__":
    main()
