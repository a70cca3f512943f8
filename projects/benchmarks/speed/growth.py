"""How the cost of training grows with the corpus, and what the working sets hold: Brown at 1/8 … 8/8."""

from typing import Any

from papers.tasks import WORDS_AND_AFFIXES
from shared.learning import epoch, initialize, learner
from shared.page import Curve, Page, Panel

from . import corpora
from .bars import Bar, figure
from .settings import Settings

EPOCHS = 4
EIGHTHS = (1, 2, 4, 8)


def measure(settings: Settings) -> dict[str, Any]:
    path = settings.data / "brown-train.spacy"
    n_sentences = len(corpora.read_docs(path, settings.limit))
    _row(settings, n_sentences // 8)  # so that all is loaded
    return {"rows": [_row(settings, n_sentences * eighth // 8) for eighth in EIGHTHS]}


def _row(settings: Settings, n_sentences: int) -> dict[str, Any]:
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": WORDS_AND_AFFIXES}
    ready = initialize(
        "tagger/dcd", settings.data / "brown-train.spacy", n_sentences, components__tagger__model__features=features
    )
    problem = ready.pipe.problem()
    solver = learner("DCD", problem, C=0.1)
    epochs = [epoch(solver, range(problem.n_examples)) for _ in range(min(EPOCHS, settings.rounds))]
    return {
        "sentences": problem.n_examples,
        "tokens": len(problem.data.gold),
        "weights": problem.dimension,
        "initializing": ready.initializing,
        "epochs": epochs,
        "planes": solver.progress().planes,
        "working set": sum(array.nbytes for array in solver.planes) / 1e6,  # type: ignore[attr-defined]
        "features": sum(array.nbytes for array in (problem.data.rows, problem.data.values)) / 1e6,
    }


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Growth with the corpus", 3)
    rows = figures["rows"]
    page.text(
        f"DCD-SSVM on tags of Brown, {len(rows[0]['epochs'])} epochs; the weights are those that some feature and tag "
        "have, so that their number grows too. Megabytes of the working sets with their room to grow, and of the "
        "extracted features."
    )
    totals = [row["initializing"] + sum(row["epochs"]) for row in rows]
    last = [row["epochs"][-1] for row in rows]
    page.table(
        ["tokens", "weights", "initialize, s", "last epoch, s", "total, s", "µs a token", "planes", "MB", "rows, MB"],
        [
            [
                f"{row['tokens']:,}",
                f"{row['weights']:,}",
                f"{row['initializing']:.1f}",
                f"{row['epochs'][-1]:.2f}",
                f"{total:.1f}",
                f"{1e6 * total / row['tokens']:.1f}",
                f"{row['planes']:,}",
                figure(row["working set"]),
                figure(row["features"]),
            ]
            for row, total in zip(rows, totals)
        ],
        texts=0,
    )
    tokens = [row["tokens"] for row in rows]
    seconds = [Curve("initialize and all epochs", tokens, totals), Curve("last epoch", tokens, last)]
    memory = [Curve("working sets", tokens, [row["working set"] for row in rows])]
    page.plot(
        "speed-growth",
        "Training on more and more of Brown.",
        [Panel("CPU", "tokens", "s", seconds), Panel("Memory", "tokens", "MB", memory)],
    )
    first, end = (1e6 * totals[place] / rows[place]["tokens"] for place in (0, -1))
    return [
        Bar(
            "Training, a token of all of Brown beside one of an eighth",
            end / first,
            at_most=1.25,
            ours=f"{end:.1f} µs",
            peer=f"ours: {first:.1f} µs",
        )
    ]
