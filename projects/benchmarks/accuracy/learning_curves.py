"""Scores by the number of training sentences: DATA RAW OUTPUT [RUN …] [--metrics METRICS].

RAW: the folder of the command `raw_text`. Without RUN, all that have no row in METRICS/learning-curves.jsonl yet. A run
is CORPUS,SENTENCES,SYSTEM. Sentences are drawn at random; those of a smaller number are among those of a larger one.
SYSTEM: ours, without and with word classes; CRFsuite on our features, without classes, each of its trainers; or spaCy's
own component as it recommends it for a CPU, for `STEPS` steps. All have the development part to choose the number of
epochs by, except CRFsuite, and are scored on it. A row has the score and the CPU seconds of training.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
from shared import metrics
from shared.training import CONFIGS, spacy_config, train
from spacy.tokens import DocBin
from tqdm import tqdm

from .peers import CORPORA as PEERS
from .word_classes import CORPORA, config

TABLE = "learning-curves"
SIZES = (100, 300, 1000, 3000)
CLASSES = {"ewt": "packages", "ner-dutch": "packages", "parser": "packages"}
"""The source of word classes for a corpus."""
SYSTEMS = ("plain", "classes", "crfsuite", "spacy")
STEPS = {100: 600, 300: 1000, 1000: 1600, 3000: 2400}
"""The steps that spaCy's components train for, with an evaluation every 200."""
RUNS = [
    *(f"{name},{size},{system}" for name in CLASSES for size in SIZES for system in SYSTEMS),
    *(f"ewt,{size},plain" for size in (200, 600, 2000)),
]
RUNS = [run for run in RUNS if not run.startswith("parser") or not run.endswith("crfsuite")]


def part(path: str, size: int, target: Path) -> str:
    """A file with so many sentences of another one."""
    docs = list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))
    chosen = np.random.default_rng(0).permutation(len(docs))[:size]
    DocBin(docs=[docs[place] for place in chosen]).to_disk(target / "train.spacy")
    return str(target / "train.spacy")


def crfsuite(component: str, paths: dict[str, str]) -> dict[str, Any]:
    """The score of each trainer, and the seconds of that with the best one."""
    command = [sys.executable, "-m", "accuracy", "crfsuite", str(CONFIGS / component / "dcd.cfg"), *paths.values()]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    scores = {row["trainer"]: row[Path(paths["dev"]).stem] for row in rows}
    best = max(scores, key=scores.__getitem__)
    seconds = next(row["cpu_seconds"] for row in rows if row["trainer"] == best)
    return {"dev": scores[best], "trainer": best, "scores": scores, "seconds": seconds}


def measured(run: str, data: Path, raw: Path, output: Path) -> dict[str, Any]:
    name, size, system = run.split(",")
    corpus, target = CORPORA[name], output / f"curve-{run.replace(',', '-')}"
    target.mkdir(parents=True, exist_ok=True)
    files = f"{data}/{corpus.files}"
    paths = {"train": part(f"{files}-train.spacy", int(size), target), "dev": f"{files}-dev.spacy"}
    if system == "crfsuite":
        return crfsuite(corpus.component, paths)
    overrides: dict[str, Any] = {f"paths.{name}": path for name, path in paths.items()}
    if system == "spacy":
        made = spacy_config(corpus.component, corpus.language, target / "made.cfg")
        overrides |= {"corpora.train.gold_preproc": True, "corpora.dev.gold_preproc": True}
        overrides |= {"training.max_steps": STEPS[int(size)]}
    else:
        made = config(corpus, CLASSES[name] if system == "classes" else "none", data, raw, target)
    values: dict[str, Any] = train(made, overrides, target)
    best = max(srsly.read_jsonl(target / "clock.jsonl"), key=lambda row: row["score"])
    return values | {"dev": round(100 * best["scores"][PEERS[name][3]], 2)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("raw", type=Path)
    arguments.add_argument("output", type=Path)
    arguments.add_argument("runs", nargs="*", metavar="RUN", choices=[*RUNS, []], help="CORPUS,SENTENCES,SYSTEM")
    arguments.add_argument("--metrics", type=Path, default=Path("metrics"))
    given = arguments.parse_args()
    done = metrics.read(given.metrics, TABLE)
    for run in tqdm(given.runs or [run for run in RUNS if run not in done], unit="run"):
        metrics.write(given.metrics, TABLE, run, measured(run, given.data, given.raw, given.output))


if __name__ == "__main__":
    main()
