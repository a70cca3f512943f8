"""A component of ours or of spaCy, as `spacy train` makes it: SYSTEM CORPUS DATA OUTPUT [METRICS].

SYSTEM is ours or spacy, CORPUS one of CORPORA. Writes the row CORPUS of METRICS/peers-SYSTEM.jsonl: scores of the best
model on the development and the test part, the CPU seconds of the training process, those until its best score, and its
peak memory.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import spacy
import srsly
from papers import metrics

from spacy_ssvm.corpus.reader import create_corpus

from .train import CONFIGS, options

CORPORA: dict[str, tuple[str, str, str, str]] = {
    "ewt": ("tagger", "ewt", "en", "tag_acc"),
    "ner-dutch": ("ner", "conll2002-ned", "nl", "ents_f"),
    "ner-spanish": ("ner", "conll2002-esp", "es", "ents_f"),
    "parser": ("parser", "ewt", "en", "dep_las"),
}
"""Component, files, language and score."""


def spacy_config(component: str, language: str, target: Path) -> Path:
    """What spaCy recommends for a CPU. Its parser comes with a tagger, as ours does."""
    pipeline = "tagger,parser" if component == "parser" else component
    options = ["--lang", language, "--pipeline", pipeline, "--optimize", "efficiency", "--force"]
    subprocess.run([sys.executable, "-m", "spacy", "init", "config", str(target), *options], check=True)
    return target


def train(config: Path, overrides: dict[str, Any], output: Path) -> dict[str, float]:
    """Run `spacy train`; returns the CPU seconds of its process, those until its best score, and its peak in MB."""
    command = [sys.executable, "-m", "scripts.clocked_train", str(config), str(output), *options(overrides)]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    seconds = after.children_user - before.children_user + after.children_system - before.children_system
    best = max(srsly.read_jsonl(output / "clock.jsonl"), key=lambda row: row["score"])
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"seconds": round(seconds, 1), "seconds_to_best": best["seconds"], "megabytes": round(megabytes)}


def main() -> None:
    system, corpus, data, output, *rest = sys.argv[1:]
    component, files, language, score = CORPORA[corpus]
    target = Path(output) / f"{system}-{corpus}"
    target.mkdir(parents=True, exist_ok=True)
    paths = {part: f"{data}/{files}-{part}.spacy" for part in ("train", "dev", "test")}
    overrides: dict[str, Any] = {"paths.train": paths["train"], "paths.dev": paths["dev"]}
    if system == "spacy":
        config = spacy_config(component, language, target / "config.cfg")
        overrides |= {"corpora.train.gold_preproc": True, "corpora.dev.gold_preproc": True}
    else:
        config = CONFIGS / component / "dcd.cfg"
        overrides |= {"nlp.lang": language}
    seconds = train(config, overrides, target)
    nlp = spacy.load(target / "model-best")
    figures: dict[str, Any] = {"system": system, **seconds}
    for part in ("dev", "test"):
        scores = nlp.evaluate(list(create_corpus(paths[part], gold_preproc=True)(nlp)))
        figures[part] = round(100 * scores[score], 2)
    print(json.dumps({"corpus": corpus, **figures}))
    metrics.write(Path(*rest or ["metrics"]), f"{metrics.PEERS}-{system}", corpus, figures)


if __name__ == "__main__":
    main()
