"""What a user would weigh: CRFsuite on the same features, and spaCy's own CPU components."""

from .page import Page
from .results import Results

CORPORA = {
    "ewt": ("EWT, fine-grained tags, accuracy", "ewt"),
    "ner-dutch": ("CoNLL-2002 Dutch, entity F1", "conll2002-ned"),
    "ner-spanish": ("CoNLL-2002 Spanish, entity F1", "conll2002-esp"),
    "parser": ("EWT, trees on predicted tags, LAS without punctuation", None),
}
"""What is scored, and the files that CRFsuite learns from."""
NAMES = {"ours": "spacy-ssvm, DCD-SSVM", "spacy": "spaCy"}
TRAINERS = ("pa", "ap", "arow", "lbfgs")
"""The algorithms of CRFsuite that `scripts.crfsuite` runs."""


def report(results: Results, page: Page) -> None:
    page.heading("Beside CRFsuite and spaCy")
    rows = []
    for corpus, (name, files) in CORPORA.items():
        for system in NAMES:
            figures = results.peer(system, corpus)
            if figures:
                scores = (f"{figures[part]:.2f}" for part in ("dev", "test"))
                times = (f"{figures[key]:.0f}" for key in ("seconds", "seconds_to_best"))
                rows.append([name, NAMES[system], *scores, *times])
        for trainer in TRAINERS if files else ():
            figures = results.peer("crfsuite", f"{corpus},{trainer}")
            if figures:
                scores = (f"{figures[f'{files}-{part}']:.2f}" for part in ("dev", "test"))
                rows.append([name, f"CRFsuite, {trainer}", *scores, f"{figures['cpu_seconds']:.0f}", None])
    page.table(["corpus", "system", "dev", "test", "CPU seconds", "to the best dev score"], rows, texts=2)
    page.text(
        "Gold tokens, one sentence a document. Ours and CRFsuite's trainers learn from the same features and labels. "
        "Ours and spaCy's (`init config --optimize efficiency`) are trained with `spacy train`, whose whole process is "
        "timed, scoring included; of CRFsuite the training alone. All ran beside others on two cores. Epochs of ours "
        "and spaCy's are chosen on the development part; CRFsuite runs as many iterations as `scripts/crfsuite.py` "
        "says."
    )
