"""Write the page of what this part has measured: METRICS FOLDER."""

import argparse
from pathlib import Path

from shared import metrics
from shared.page import Page

CORPORA = {
    "ewt": ("EWT, fine-grained tags, accuracy", "ewt"),
    "ner-dutch": ("CoNLL-2002 Dutch, entity F1", "conll2002-ned"),
    "ner-spanish": ("CoNLL-2002 Spanish, entity F1", "conll2002-esp"),
    "parser": ("EWT, trees on predicted tags, LAS without punctuation", None),
}
"""What is scored, and the files that CRFsuite learns from."""
SYSTEMS = {"ours": "spacy-ssvm, DCD-SSVM", "spacy": "spaCy"}
CURVES = {"plain": "without classes", "classes": "with classes", "crfsuite": "CRFsuite", "spacy": "spaCy"}


def peers(tables: Path, page: Page) -> None:
    """Our components beside CRFsuite's and spaCy's."""
    page.heading("Beside CRFsuite and spaCy")
    page.text(
        "Gold tokens, one sentence a document. Ours and CRFsuite's trainers learn from the same features and labels. "
        "Ours and spaCy's (`init config --optimize efficiency`) are trained with `spacy train`, whose whole process is "
        "timed, scoring included; of CRFsuite the training alone. All ran beside others on two cores. Epochs of ours "
        "and spaCy's are chosen on the development part; CRFsuite runs as many iterations as `accuracy/crfsuite.py` "
        "says."
    )
    trained = {system: metrics.read(tables, f"{metrics.PEERS}-{system}") for system in SYSTEMS}
    crfsuite = metrics.read(tables, f"{metrics.PEERS}-crfsuite")
    rows = []
    for corpus, (title, files) in CORPORA.items():
        for system, name in SYSTEMS.items():
            if figures := trained[system].get(corpus):
                times = (f"{figures[key]:.0f}" for key in ("seconds", "seconds_to_best"))
                rows.append([title, name, *(f"{figures[part]:.2f}" for part in ("dev", "test")), *times])
        for run, figures in crfsuite.items():
            if run.partition(",")[0] == corpus:
                scores = (f"{figures[f'{files}-{part}']:.2f}" for part in ("dev", "test"))
                rows.append([title, f"CRFsuite, {figures['trainer']}", *scores, f"{figures['cpu_seconds']:.0f}", None])
    page.table(["corpus", "system", "dev", "test", "CPU seconds", "to the best dev score"], rows, texts=2)


def word_classes(tables: Path, page: Page) -> None:
    """Components without and with word classes of each source."""
    page.heading("Word classes")
    page.text(
        "Scores without word classes and with those of a source; the ranges hold 95 % of the samples of the gain. Size "
        "of the pipeline, and tokens that it annotates in a second of CPU time, new to it and known."
    )
    rows = []
    for run, figures in metrics.read(tables, "word-classes").items():
        corpus, _, source = run.rpartition("-")
        cells: list[str | None] = []
        for part in ("dev", "test"):
            gain = figures.get(f"{part}_gain")
            cells.append(f"{figures[part]:.2f}" if part in figures else None)
            cells.append(f"{gain[0]:.1f} to {gain[1]:.1f}" if gain else None)
        speeds = (f"{speed:,}" for speed in figures["tokens_per_second"])
        rows.append([corpus, source, *cells, f"{figures['size']:.1f}", *speeds])
    header = ["corpus", "source", "dev", "gain", "test", "gain", "MB", "new tokens / s", "known tokens / s"]
    page.table(header, rows, texts=2)


def learning_curves(tables: Path, page: Page) -> None:
    """Scores by the number of training sentences."""
    page.heading("Few sentences")
    page.text("Scores on the development part by the number of training sentences.")
    table = metrics.read(tables, "learning-curves")
    sizes = sorted({(corpus, int(size)) for corpus, size, _ in (run.split(",") for run in table)})
    rows = []
    for corpus, size in sizes:
        found = (table.get(f"{corpus},{size},{system}") for system in CURVES)
        rows.append([corpus, size, *(figures and f"{figures['dev']:.2f}" for figures in found)])
    page.table(["corpus", "sentences", *CURVES.values()], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    page = Page(given.folder, "accuracy")
    page.heading("Accuracy", 1)
    for section in (peers, word_classes, learning_curves):
        section(given.metrics, page)
    page.write()


if __name__ == "__main__":
    main()
