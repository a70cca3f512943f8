"""One thread beside two, by the clock on the wall: solvers with batches of oracles, certificates, prediction."""

import time
from statistics import median
from typing import Any

import numpy as np
import spacy
from confection import ConfigValidationError
from papers.page import Page

from . import corpora, models
from .bars import Bar, missing
from .clock import Contender, race, ratio
from .learning import Initialized, epoch, initialize, learner
from .settings import Settings

SOLVERS = {
    "CPD, an epoch": ("CPD", {"C": 0.1}),
    "1-slack, an epoch": ("OneSlack", {"C": 0.1}),
    "L-BFGS, an epoch": ("LBFGS", {"C": 1.0}),
}
NAMES = [*SOLVERS, "certificate", "prediction"]
SENTENCES = 4000
ROUNDS = 3
WANTED = 1.7


def measure(settings: Settings) -> dict[str, Any]:
    try:
        ready = {n: _initialized(settings, n) for n in (1, 2)}
    except ConfigValidationError:
        return {"missing": "the components have no `n_threads`"}
    results: dict[str, dict[int, list[np.ndarray]]] = {name: {1: [], 2: []} for name in NAMES}
    contenders = {name: {n: _epoch(one, name, results[name][n]) for n, one in ready.items()} for name in SOLVERS}
    contenders["certificate"] = {n: _certificate(one, results["certificate"][n]) for n, one in ready.items()}
    contenders["prediction"] = {n: _prediction(settings, n, results["prediction"][n]) for n in ready}
    rounds = min(settings.rounds, ROUNDS)
    seconds = {
        name: race({f"{n} threads": one for n, one in pair.items()}, rounds, time.perf_counter)
        for name, pair in contenders.items()
    }
    equal = {
        name: all(np.array_equal(found[1][0], other) for other in found[1] + found[2])
        for name, found in results.items()
    }
    return {"seconds": seconds, "equal": equal}


def _initialized(settings: Settings, n_threads: int) -> Initialized:
    limit = min(settings.limit or SENTENCES, SENTENCES)
    return initialize("tagger/dcd", settings.data / "ewt-train.spacy", limit, components__tagger__n_threads=n_threads)


def _epoch(ready: Initialized, name: str, results: list[np.ndarray]) -> Contender:
    solver, given = SOLVERS[name]
    problem = ready.pipe.problem()

    def run(one: Any) -> None:
        epoch(one, range(problem.n_examples))
        results.append(one.prediction_weights().copy())

    return Contender(lambda: learner(solver, problem, **given), run)


def _certificate(ready: Initialized, results: list[np.ndarray]) -> Contender:
    problem = ready.pipe.problem()
    one = learner("DCD", problem, C=0.1)
    epoch(one, range(problem.n_examples))

    def run(_: None) -> None:
        found = one.certificate()
        assert found is not None
        results.append(np.array([found.primal, found.dual]))

    return Contender(lambda: None, run)


def _prediction(settings: Settings, n_threads: int, results: list[np.ndarray]) -> Contender:
    given = {"components.tagger.n_threads": n_threads}
    nlp = spacy.load(models.model(settings.training, "ours-ewt"), config=given)
    sentences = corpora.read(settings.data / "ewt-test.spacy", settings.limit)

    def run(docs: list[Any]) -> None:
        found = nlp.pipe(docs)
        results.append(np.concatenate([doc.to_array("TAG") for doc in found]))

    return Contender(lambda: corpora.bare(nlp.vocab, sentences), run)


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    titles = {name: f"Two threads beside one, {name}" for name in NAMES}
    if "missing" in figures:
        return [missing(title, figures["missing"], at_least=WANTED) for title in titles.values()]
    page.heading("Threads", 3)
    equal, seconds = figures["equal"], figures["seconds"]
    page.text(
        "Wall time on tags of EWT. "
        + (
            "Every result is the same, bit by bit, with one thread and with two, and each time."
            if all(equal.values())
            else f"**Results differ**: {', '.join(name for name in NAMES if not equal[name])}."
        )
    )
    bars = []
    for name, title in titles.items():
        times = {who: f"{median(found):.3f} s" for who, found in seconds[name].items()}
        value = ratio(seconds[name], "1 threads", "2 threads")
        bars.append(Bar(title, value, WANTED, ours=times["2 threads"], peer=f"ours: {times['1 threads']}"))
    return bars
