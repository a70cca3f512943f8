"""Training: `spacy train` to the best score beside spaCy's components, and an epoch beside one of CRFsuite's."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pycrfsuite
import srsly
from shared.learning import epoch, initialize, learner
from shared.page import Page

from .bars import Bar, figure, missing
from .clock import ratio
from .prediction import CHAINS
from .settings import Settings

EPOCHS = 7
SOLVERS = {"DCD-SSVM": ("DCD", {"C": 0.1}), "perceptron": ("Perceptron", {})}
TRAININGS = {
    "ewt": ("tagger", "tag_acc", 40),
    "ner-dutch": ("named entities", "ents_f", 30),
    "parser": ("parser", "dep_las", 25),
}
"""Folders of `training`: the score by which they are compared, and how many times less CPU ours is to take to spaCy's
best one."""
EPOCH = {"ewt": 2.5, "ner-dutch": 1.5}
"""How many times as long an epoch of CRFsuite's `pa` is to take as one of DCD-SSVM."""
PEER = "CRFsuite, pa"


def measure(settings: Settings) -> dict[str, Any]:
    figures: dict[str, Any] = {corpus: _epochs(settings, corpus) for corpus in CHAINS}
    figures["trainings"] = {
        f"{system}-{corpus}": _clock(settings.training / f"{system}-{corpus}" / "clock.jsonl", score)
        for corpus, (_, score, _) in TRAININGS.items()
        for system in ("ours", "spacy")
    }
    return figures


class Paced(pycrfsuite.Trainer):
    """A trainer that does something else between two iterations, which its own clock does not see."""

    def __init__(self, between: Callable[[], None], iterations: int) -> None:
        super().__init__("pa", {"max_iterations": iterations, "epsilon": 0.0}, verbose=False)
        self.between = between

    def message(self, message: str) -> None:
        if self.logparser.feed(message) == "iteration":
            self.between()


def _epochs(settings: Settings, corpus: str) -> dict[str, list[float]]:
    """CPU seconds of each epoch, on the same features and labels, all learners in turn."""
    config = "tagger/dcd" if corpus == "ewt" else "ner/dcd"
    pipe = initialize(config, settings.data / f"{CHAINS[corpus][1]}-train.spacy", settings.limit).pipe
    problem, labels = pipe.problem(), pipe.weight_labels
    learners = {name: learner(solver, problem, **given) for name, (solver, given) in SOLVERS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    rng = np.random.default_rng(0)

    def between() -> None:
        order = rng.permutation(problem.n_examples)
        for name, solver in learners.items():
            seconds[name].append(epoch(solver, order))

    trainer = Paced(between, min(EPOCHS, settings.rounds))
    chains = problem.data
    for first, end in zip(chains.starts[:-1], chains.starts[1:]):
        tokens = range(first, end)
        rows = [chains.rows[chains.feature_starts[t] : chains.feature_starts[t + 1]] for t in tokens]
        trainer.append([list(map(str, row)) for row in rows], [labels[chains.gold[t]] for t in tokens])
    trainer.train("")
    return {**seconds, PEER: [iteration["time"] for iteration in trainer.logparser.iterations]}


def _clock(path: Path, score: str) -> dict[str, Any] | None:
    """What `shared.clocked_train` has left of the score with this name, or None."""
    if not path.exists():
        return None
    rows = list(srsly.read_jsonl(path))
    reached = [[row["seconds"], row["scores"][score]] for row in rows]
    seconds, best = max(reached, key=lambda pair: pair[1])
    return {"to best": seconds, "score": best, "rows": reached, "megabytes": rows[-1]["megabytes"]}


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Training", 3)
    page.text(
        "`spacy train`, CPU seconds of the whole process, imports and scoring included, until the best score on the "
        "development part, and ours until they are as good as spaCy's best; a row is an evaluation, in our configs one "
        "an epoch. Peak memory up to the last evaluation."
    )
    trainings = figures["trainings"]
    page.table(
        ["training", "s to best", "best score", "s to first row", "s a further row", "rows", "MB"],
        [
            [
                name,
                f"{record['to best']:.0f}",
                f"{100 * record['score']:.2f}",
                f"{record['rows'][0][0]:.1f}",
                f"{(record['rows'][-1][0] - record['rows'][0][0]) / max(len(record['rows']) - 1, 1):.2f}",
                len(record["rows"]),
                record["megabytes"],
            ]
            for name, record in trainings.items()
            if record
        ],
    )
    bars = []
    for corpus, (name, _, factor) in TRAININGS.items():
        ours, peer = (trainings[f"{system}-{corpus}"] for system in ("ours", "spacy"))
        wanted = {
            f"Training, {name}, to its own best score, spaCy": None,
            f"Training, {name}, to spaCy's best score, spaCy": factor,
        }
        if not (ours and peer):
            reason = "run the commands `speed-models` and `spacy`"
            bars += [missing(title, reason, at_least=at_least) for title, at_least in wanted.items()]
            continue
        as_good = min((seconds for seconds, score in ours["rows"] if score >= peer["score"]), default=None)
        for (title, at_least), seconds in zip(wanted.items(), (ours["to best"], as_good)):
            if seconds is None:
                bars.append(missing(title, "that score was not reached", at_least=at_least))
            else:
                own, other = figure(seconds) + " s", figure(peer["to best"]) + " s"
                bars.append(Bar(title, peer["to best"] / seconds, at_least, ours=own, peer=other))
    page.text("CPU seconds of an epoch on the same features and labels, learners taking turns:")
    rows = [[corpus, who, f"{median(times):.3f}"] for corpus in CHAINS for who, times in figures[corpus].items()]
    page.table(["corpus", "learner", "s"], rows, texts=2)
    for corpus, (name, _) in CHAINS.items():
        for solver, factor in (("DCD-SSVM", EPOCH[corpus]), ("perceptron", 2)):
            seconds = figures[corpus]
            own, other = (f"{median(seconds[who]):.3f} s" for who in (solver, PEER))
            title = f"Training, {name}, an epoch of {solver}, CRFsuite's pa"
            bars.append(Bar(title, ratio(seconds, PEER, solver), factor, ours=own, peer=other))
    return bars
