"""Measure what the model of costs needs, and what it is checked against: DATA METRICS [PART …].

Work is measured in CPU seconds of this process, and only the checks, by Ray's workers, in seconds of the clock.

DATA is the folder of the .spacy files that `projects/benchmarks` converts. Each part becomes a file of METRICS; without
parts, all are measured, which takes some ten minutes on two cores.
"""

import argparse
import json
import logging
import os
import pickle
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_ssvm.distributed.annotation import Annotation, Annotator
from spacy_ssvm.distributed.cluster import connected
from spacy_ssvm.distributed.shards import cut
from spacy_ssvm.files import replace_files
from spacy_ssvm.solvers.dcd import Dcd
from spacy_ssvm.solvers.gradients import sum_losses
from spacy_ssvm.solvers.learner import fit
from spacy_ssvm.solvers.oracle_pass import find_all
from spacy_ssvm.solvers.problem import Problem

from .costs import ENTRY_BYTES, Network
from .local_workers import (
    Task,
    Watched,
    learn_epoch,
    n_tokens,
    n_weights,
    objects,
    pipeline,
    processes,
)
from .simulated_network import NO_DELAY, SimulatedNetwork

Row = dict[str, Any]

PARSER_ALONE = {
    "nlp.pipeline": ["parser"],
    "corpora.train.jackknife": None,
    "corpora.train.columns": ["tag", "pos"],
    "corpora.dev.columns": ["tag", "pos"],
}
"""The parser by itself, with gold tags."""

GROWTH = [
    ("tagger", "ewt", {}, (1 / 8, 1 / 4, 1 / 2, 1.0)),
    ("tagger", "brown", {}, (1 / 8, 1 / 3, 1.0)),
    ("ner", "conll2002-ned", {}, (1 / 8, 1 / 4, 1 / 2, 1.0)),
    ("parser", "ewt", PARSER_ALONE, (1 / 32, 1 / 16, 1 / 8)),
]
"""Component, corpus, settings, and the shares of the corpus on which growth is measured."""
WITH_SUMS = (("tagger", "ewt"), ("ner", "conll2002-ned"))
"""Where sums at one frozen w are measured, too: all labels of all features fit into memory."""
GROWTH_EPOCHS = 3
ALONE_BY = (("tagger", "dcd"), ("tagger", "perceptron"))

TRAFFIC = [
    ("tagger", "dcd", "ewt", 1 / 2, {}, (1, 2, 4, 8, 16)),
    ("ner", "dcd", "conll2002-ned", 1 / 2, {}, (1, 2, 4, 8, 16)),
    ("tagger", "perceptron", "ewt", 1 / 2, {}, (1, 2, 4, 8)),
    ("parser", "dcd", "ewt", 1 / 16, PARSER_ALONE, (1, 2, 4)),
]
"""Component, solver, corpus, share of its documents, settings, and numbers of workers."""
ALONE = 6
"""Epochs of one worker whose result the others are to reach."""
COUNTED = {("tagger", "dcd"), ("ner", "dcd"), ("tagger", "perceptron")}
"""Whose epochs until then are counted."""
MOST_WORKERS = 8
FEW = 4
"""Epochs whose traffic is measured where they are not counted: with more workers, and for the parser."""
MAX_EPOCHS = 25

CHECKED = [("tagger", "ewt"), ("ner", "conll2002-ned")]
NETWORKS = [NO_DELAY, *(Network(megabits * 1e6 / 8, latency) for megabits in (1000, 100) for latency in (1e-3, 20e-3))]
CHECK_EPOCHS = 3


def machine(data: Path) -> Iterator[Row]:
    """On what the figures are measured."""
    names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    yield {
        "processor": names[0] if names else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "Python": platform.python_version(),
    }


def growth(data: Path) -> Iterator[Row]:
    """Weights by tokens, and passes at one frozen w, of a process that learns alone."""
    for component, corpus, others, parts in GROWTH:
        path = data / f"{corpus}-train.spacy"
        settings = Task(f"{component}/dcd", component, path, others=others).settings(path)
        nlp = util.load_model_from_config(settings, auto_fill=True)
        (reader,) = util.resolve_dot_names(nlp.config.interpolate(), ["corpora.train"])
        all_examples = list(reader(nlp))
        for part in parts:
            examples = all_examples[: round(part * len(all_examples))]
            nlp.initialize(lambda examples=examples: examples)
            pipe: Any = nlp.get_pipe(component)
            seconds = [timed(lambda examples=examples, pipe=pipe: pipe.update(examples)) for _ in range(GROWTH_EPOCHS)]
            row = {"component": component, "corpus": corpus, "tokens": sum(len(one.reference) for one in examples)}
            problem = pipe.problem()
            row |= {"weights": problem.dimension, "non_zeros": pipe.count_weights()[0], "epoch": min(seconds)}
            yield row | (sums(problem) if (component, corpus) in WITH_SUMS else {})


def alone(data: Path) -> Iterator[Row]:
    """CPU seconds of a token in an epoch of a process that learns without a driver, by the rules' solvers."""
    path = data / "ewt-train.spacy"
    for component, solver in ALONE_BY:
        nlp = util.load_model_from_config(Task(f"{component}/{solver}", component, path).settings(path), auto_fill=True)
        (reader,) = util.resolve_dot_names(nlp.config.interpolate(), ["corpora.train"])
        examples = list(reader(nlp))
        nlp.initialize(lambda examples=examples: examples)
        pipe: Any = nlp.get_pipe(component)
        seconds = [timed(lambda pipe=pipe, examples=examples: pipe.update(examples)) for _ in range(1 + GROWTH_EPOCHS)]
        yield {"component": component, "solver": solver, "token": median(seconds[1:]) / n_tokens(path)}


def sums(problem: Problem) -> Row:
    """Passes over all examples at one w, that of a few epochs: entries of the sums, and seconds."""
    w = fit(Dcd(), problem, GROWTH_EPOCHS)[0].prediction_weights()
    total = np.zeros(problem.dimension)

    def add_planes() -> None:
        for _, found in find_all(problem, w, np.arange(problem.n_examples)):
            end = found.starts[-1]
            np.add.at(total, found.indices[:end], found.values[:end])

    def descent() -> np.ndarray:
        return sum_losses(problem, w, 1.0, 1.0).descent

    # The first passes load the kernels.
    add_planes()
    descent()
    total[:] = 0.0
    return {
        "oracles": timed(add_planes),
        "planes": int(np.count_nonzero(total)),
        "marginals": timed(descent),
        "gradient": int(np.count_nonzero(descent())),
    }


def timed(run: Callable[[], Any]) -> float:
    """The CPU seconds that it takes: other processes may compute beside this one."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def traffic(data: Path) -> Iterator[Row]:
    """What workers, objects of this process, send in an epoch, how long each side works, and epochs to one result."""
    for component, solver, corpus, part, others, numbers in TRAFFIC:
        path = data / f"{corpus}-train.spacy"
        task = Task(f"{component}/{solver}", component, path, round(part * len(DocBin().from_disk(path))), others)
        target = None
        for n_workers in numbers:
            counts = (component, solver) in COUNTED and n_workers <= MOST_WORKERS
            with objects(task, n_workers) as workers:
                watched = Watched(workers.calls)
                nlp = pipeline(task, workers, watched.send)
                pipe: Any = nlp.get_pipe(component)
                epochs: list[Epoch] = []
                results: list[float] = []
                while len(epochs) < (MAX_EPOCHS if counts else FEW):
                    epochs.append(watched_epoch(nlp, component, watched))
                    results.append(result(pipe.figures))
                    if counts and (len(epochs) == ALONE if target is None else results[-1] >= target):
                        break
            if counts and target is None:
                target = results[-1]
            yield {
                "component": component,
                "solver": solver,
                "corpus": corpus,
                "tokens": n_tokens(path, task.limit),
                "workers": n_workers,
                "weights": n_weights(watched.layouts),
                "block_weights": sum(layout.dimension for layout in watched.layouts),
                "non_zeros": pipe.figures.non_zeros,
                **typical(epochs),
                "epochs": len(epochs) if counts and target is not None and results[-1] >= target else None,
            }


def result(figures: Any) -> float:
    """What is to be reached: a dual objective or, without one, an epoch with few losses."""
    return float(-figures.loss if figures.dual is None else figures.dual)


class Epoch(NamedTuple):
    """CPU seconds of all workers together and of the driver, and entries that all workers send and get."""

    worker_seconds: float
    driver_seconds: float
    up: int
    down: int


def watched_epoch(nlp: Language, component: str, watched: Watched) -> Epoch:
    """Learn for an epoch."""
    watched.rounds.clear()
    seconds = learn_epoch(nlp, component, time.process_time)
    asked = sum(call.seconds for call in watched.rounds)
    up, down = (sum(getattr(call, way) for call in watched.rounds) // ENTRY_BYTES for way in ("up", "down"))
    return Epoch(asked, seconds - asked, up, down)


def typical(epochs: Sequence[Epoch]) -> Row:
    """The medians of all epochs but the first, in which kernels are loaded and all dual variables are new."""
    found = {name: median(getattr(epoch, name) for epoch in epochs[1:]) for name in Epoch._fields}
    return found | {way: round(found[way]) for way in ("up", "down")}


def transport(data: Path) -> Iterator[Row]:
    """Seconds of a call of a Ray process without arguments, and of a byte that it gets and returns."""
    size = 4 << 20

    class Echo:
        def back(self, vector: np.ndarray | None) -> np.ndarray | None:
            return vector

    with connected("local", 1) as ray:
        echo = ray.remote(Echo).remote()

        def seconds(vector: np.ndarray | None) -> float:
            found = []
            for _ in range(20):
                begin = time.perf_counter()
                ray.get(echo.back.remote(vector))
                found.append(time.perf_counter() - begin)
            return median(found)

        call = seconds(None)
        whole = seconds(np.zeros(size))
    yield {"call": call, "byte": max(0.0, whole - call) / (2 * 8 * size)}


def annotating(data: Path) -> Iterator[Row]:
    """What a token costs in `spacy ssvm apply`: a worker that tags and writes, and the driver that cuts and sends."""
    task = Task("tagger/dcd", "tagger", data / "ewt-train.spacy")
    nlp = util.load_model_from_config(task.settings(task.corpus), auto_fill=True)
    (reader,) = util.resolve_dot_names(nlp.config.interpolate(), ["corpora.train"])
    examples = list(reader(nlp))
    nlp.initialize(lambda: examples)
    for _ in range(GROWTH_EPOCHS):
        nlp.update(examples)
    texts = [" ".join(doc.text.split()) for doc in DocBin().from_disk(task.corpus).get_docs(nlp.vocab)]
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "texts.txt", Path(folder) / "annotated"
        output.mkdir()
        source.write_text("".join(f"{text}\n" for text in texts), "utf8")
        n_bytes = source.stat().st_size
        cutting = timed(lambda: [pickle.dumps(shard) for shard in cut([source])])
        cutting_docs = timed(lambda: [pickle.dumps(shard) for shard in cut([task.corpus])])
        shards = list(cut([source]))
        annotate = Annotator(nlp, Annotation(output))
        annotate(shards[0])
        n_annotated = 0
        begin = time.process_time()
        for shard in shards:
            n_annotated += annotate(shard).tokens
        seconds = time.process_time() - begin
    costs = {"token": seconds, "cut": cutting, "text": n_bytes}
    row = {name: amount / n_annotated for name, amount in costs.items()}
    yield {"tokens": n_annotated, **row, "cut_docs": cutting_docs / n_tokens(task.corpus)}


def checks(data: Path) -> Iterator[Row]:
    """Seconds of an epoch of workers that are processes, on simulated networks: the median of a few epochs."""
    for component, corpus in CHECKED:
        path = data / f"{corpus}-train.spacy"
        task = Task(f"{component}/dcd", component, path)
        for n_workers, networks in ((1, NETWORKS[:1]), (2, NETWORKS), (4, NETWORKS)):
            with processes(task, n_workers) as workers:
                way = SimulatedNetwork(workers.calls)
                nlp = pipeline(task, workers, way.send)
                learn_epoch(nlp, component, time.perf_counter)
                for network in networks:
                    way.network = network
                    seconds = [learn_epoch(nlp, component, time.perf_counter) for _ in range(CHECK_EPOCHS)]
                    yield {
                        "component": component,
                        "corpus": corpus,
                        "tokens": n_tokens(path),
                        "workers": n_workers,
                        "cores": os.cpu_count(),
                        "megabits": None if network is NO_DELAY else round(network.bandwidth * 8 / 1e6),
                        "latency": network.latency,
                        "seconds": median(seconds),
                    }
                # Workers have begun another epoch.
                way.wait()


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "machine": machine,
    "growth": growth,
    "alone": alone,
    "traffic": traffic,
    "transport": transport,
    "annotating": annotating,
    "checks": checks,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    arguments = parser.parse_args()
    logging.getLogger("spacy").setLevel(logging.ERROR)
    for name in arguments.parts or PARTS:
        begin = time.perf_counter()
        lines = []
        for row in PARTS[name](arguments.data.resolve()):
            print(name, row, flush=True)
            lines.append(f"{json.dumps(row)}\n")
        arguments.metrics.mkdir(exist_ok=True)
        replace_files(arguments.metrics, {f"costs-{name}.jsonl": "".join(lines).encode()})
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
