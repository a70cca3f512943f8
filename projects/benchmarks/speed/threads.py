"""One thread beside two, by the clock on the wall: solvers with batches of oracles, certificates, prediction."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np
import spacy
from confection import ConfigValidationError
from shared.learning import epoch, initialize, learner
from shared.page import Page
from spacy.tokens import Doc

from . import corpora, models
from .bars import Bar, missing
from .clock import Contender, Seconds, race, ratio, spend
from .settings import Settings

SOLVERS = {
    "CPD, an epoch": ("CPD", {"C": 0.1}),
    "1-slack, an epoch": ("OneSlack", {"C": 0.1}),
    "L-BFGS, an epoch": ("LBFGS", {"C": 1.0}),
}
NAMES = [*SOLVERS, "certificate", "tagging", "parsing"]
SENTENCES = 4000
ROUNDS = 3
WANTED = 1.7
TAGGING = """
import sys, time
import spacy
from spacy.tokens import Doc, DocBin

nlp = spacy.load(sys.argv[1])
sentences = [[token.text for token in doc] for doc in DocBin().from_disk(sys.argv[2]).get_docs(nlp.vocab)]

def seconds():
    docs = [Doc(nlp.vocab, words=words) for words in sentences]
    started = time.perf_counter()
    for doc in nlp.pipe(docs):
        pass
    return time.perf_counter() - started

seconds()
print(sum(seconds() for _ in range(40)))
"""


def measure(settings: Settings) -> dict[str, Any]:
    try:
        contenders = {n: _contenders(settings, n) for n in (1, 2)}
    except ConfigValidationError:
        return {"missing": "the components have no `n_threads`"}
    figures: dict[str, Any] = {"seconds": {}, "reproducible": {}, "equal": {}}
    for name in NAMES:
        pair = {str(n): own[name] for n, own in contenders.items()}
        figures["seconds"][name] = race(pair, min(settings.rounds, ROUNDS), time.perf_counter)
        one, two, again = (contender.run(contender.prepare()) for contender in (pair["1"], pair["2"], pair["2"]))
        figures["reproducible"][name] = np.array_equal(two, again)
        figures["equal"][name] = np.array_equal(one, two)
    figures["processes"] = _processes(settings)
    return figures


def _processes(settings: Settings) -> Seconds:
    """Seconds of a process alone, and the mean of two at a time that share nothing; each does the same work."""
    work = ["-c", TAGGING, str(models.model(settings.training, "ours-ewt")), str(settings.data / "ewt-test.spacy")]
    seconds: Seconds = {"1": [], "2": []}
    with ThreadPoolExecutor(2) as pool:
        for _ in range(min(settings.rounds, ROUNDS)):
            for name in seconds:
                started = [pool.submit(spend, work) for _ in range(int(name))]
                printed = [process.result().figures for process in started]
                seconds[name].append(sum(printed) / len(printed))
    return seconds


def _contenders(settings: Settings, n_threads: int) -> dict[str, Contender]:
    """What is timed with so many threads; each run returns its result."""
    limit = min(settings.limit or SENTENCES, SENTENCES)
    path = settings.data / "ewt-train.spacy"
    problem = initialize("tagger/dcd", path, limit).pipe.problem()
    order = range(problem.n_examples)
    learnt = learner("DCD", problem, n_threads, C=0.1)
    epoch(learnt, order)
    tagger = spacy.load(models.model(settings.training, "ours-ewt"), config={"components.tagger.n_threads": n_threads})
    parser = spacy.load(
        models.model(settings.training, "ours-parser"),
        exclude=["tagger", "pos_tagger"],
        config={"components.parser.n_threads": n_threads},
    )
    sentences = corpora.read(settings.data / "ewt-test.spacy", settings.limit)

    def learn(solver: Any) -> np.ndarray:
        epoch(solver, order)
        return np.array(solver.prediction_weights())

    def certify(solver: Any) -> np.ndarray:
        certificate = solver.certificate()
        return np.array([certificate.primal, certificate.dual])

    def tag(docs: list[Doc]) -> np.ndarray:
        return np.concatenate([doc.to_array("TAG") for doc in tagger.pipe(docs)])

    def parse(docs: list[Doc]) -> np.ndarray:
        return np.concatenate([doc.to_array(["HEAD", "DEP"]) for doc in parser.pipe(docs)])

    solvers = {
        name: Contender(lambda solver=solver, given=given: learner(solver, problem, n_threads, **given), learn)
        for name, (solver, given) in SOLVERS.items()
    }
    return {
        **solvers,
        "certificate": Contender(lambda: learnt, certify),
        "tagging": Contender(lambda: corpora.bare(tagger.vocab, sentences), tag),
        "parsing": Contender(lambda: corpora.tagged(parser.vocab, sentences), parse),
    }


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    title = "Two threads beside one, {}".format
    if "missing" in figures:
        return [missing(title(name), figures["missing"], at_least=WANTED) for name in NAMES]
    page.heading("Threads", 3)
    changing, different = (
        ", ".join(name for name, holds in figures[kind].items() if not holds) or "none"
        for kind in ("reproducible", "equal")
    )
    page.text(
        f"Wall time on tags of {SENTENCES:,} sentences of EWT, predictions on its test part. Results that are "
        f"not the same each time with two threads: {changing}. Rounded otherwise than with one: {different}. "
        "Two processes that tag on their own show how much more two of this machine's cores do than one."
    )
    bars = []
    for name, seconds in figures["seconds"].items():
        one, two = (f"{median(seconds[n]):.3f} s" for n in ("1", "2"))
        bars.append(Bar(title(name), ratio(seconds, "1", "2"), WANTED, ours=two, peer=f"ours: {one}"))
    if "processes" in figures:
        one, two = (f"{median(figures['processes'][n]):.2f} s" for n in ("1", "2"))
        gain = 2 * ratio(figures["processes"], "1", "2")
        bars.append(Bar("Two processes beside one, sharing nothing, tagging", gain, ours=two, peer=f"ours: {one}"))
    return bars
