"""Corpora of more than a million tokens: memory and time of `spacy train`, beside those for a part of each."""

import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import srsly
from shared.page import Page
from shared.training import CONFIGS, options
from spacy.tokens import Doc, DocBin

from . import corpora
from .bars import Bar
from .clock import spend
from .settings import Settings

EPOCHS = 2
"""The working sets of the second epoch are the largest ones."""
COPIES = 6
"""Of EWT, so that its 205,000 tokens become as many as those of Brown."""
RARE = 2
"""Words with at most so many tokens are other words in each copy."""
PARTS = ("train", "dev", "test")
MAX_MEGABYTES = {"tagger": 2000, "parser": 4000}
MAX_GROWTH = 1.25


def measure(settings: Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        taggings = _brown(work / "tagger", settings)
        parsings = _treebanks(work / "parser", settings)
        return {
            "tagger": [_train("tagger", path, settings.data / "brown-dev.spacy", work) for path in taggings],
            "parser": [_train("parser", path, settings.data / "ewt-dev.spacy", work) for path in parsings],
        }


def _brown(folder: Path, settings: Settings) -> list[Path]:
    """A folder with a sixth of Brown, taken at random, and one with all of it."""
    docs = [doc for part in PARTS for doc in corpora.read_docs(settings.data / f"brown-{part}.spacy", settings.limit)]
    sixth = random.Random(0).sample(docs, len(docs) // COPIES)
    return [_written(folder / name, chosen) for name, chosen in (("sixth", sixth), ("whole", docs))]


def _treebanks(folder: Path, settings: Settings) -> list[Path]:
    """A folder with EWT, and one with several copies of it that differ in rare words."""
    docs = corpora.read_docs(settings.data / "ewt-train.spacy", settings.limit)
    counts = Counter(token.text for doc in docs for token in doc)
    copies = [_renamed(doc, counts, copy) for copy in range(COPIES) for doc in docs]
    return [_written(folder / name, chosen) for name, chosen in (("once", docs), ("copies", copies))]


def _renamed(doc: Doc, counts: Counter[str], copy: int) -> Doc:
    words = [f"{token.text}{copy}" if counts[token.text] <= RARE else token.text for token in doc]
    return Doc(
        doc.vocab,
        words=words,
        tags=[token.tag_ for token in doc],
        pos=[token.pos_ for token in doc],
        heads=[token.head.i for token in doc],
        deps=[token.dep_ for token in doc],
    )


def _written(folder: Path, docs: list[Doc]) -> Path:
    folder.mkdir(parents=True)
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    (folder / "tokens").write_text(str(sum(map(len, docs))))
    return folder


def _train(component: str, folder: Path, dev: Path, work: Path) -> dict[str, float]:
    """Tokens of the corpus, CPU seconds and peak memory of two epochs."""
    target, overrides = work / "trained", {"paths.train": str(folder / "train.spacy"), "paths.dev": str(dev)}
    given = options({**overrides, "training.max_epochs": EPOCHS})
    spent = spend(["-m", "shared.clocked_train", f"{CONFIGS / component / 'dcd.cfg'}", str(target), *given])
    megabytes = max(row["megabytes"] for row in srsly.read_jsonl(target / "clock.jsonl"))
    shutil.rmtree(target)
    return {"tokens": int((folder / "tokens").read_text()), "seconds": spent.cpu, "megabytes": megabytes}


def report(figures: dict[str, Any], page: Page) -> list[Bar]:
    page.heading("Corpora of more than a million tokens", 3)
    page.text(
        f"`spacy train` of our configs for {EPOCHS} epochs: the tagger on Brown and on a sixth of it, the parser "
        f"with its taggers on UD English EWT and on {COPIES} copies of it, in each of which words with at most {RARE} "
        "tokens are other words. CPU seconds and peak memory of the whole process."
    )
    rows, bars = [], []
    for component, (small, large) in figures.items():
        cost = [1e6 * row["seconds"] / row["tokens"] for row in (small, large)]
        for row, of_token in zip((small, large), cost):
            seconds, megabytes = f"{row['seconds']:.0f}", f"{row['megabytes']:,.0f}"
            rows.append([component, f"{row['tokens']:,}", seconds, f"{of_token:.0f}", megabytes])
        tokens, megabytes = f"{large['tokens']:,} tokens", large["megabytes"]
        title = f"Memory, peak of training a {component} on {tokens}"
        bars.append(Bar(title, megabytes, at_most=MAX_MEGABYTES[component], unit="MB"))
        title = f"Training a {component}, a token of {tokens} beside one of {small['tokens']:,}"
        ours, peer = (f"{of_token:.0f} µs" for of_token in reversed(cost))
        bars.append(Bar(title, cost[1] / cost[0], at_most=MAX_GROWTH, ours=ours, peer=f"ours: {peer}"))
    page.table(["component", "tokens", "s", "µs a token", "MB"], rows)
    return bars
