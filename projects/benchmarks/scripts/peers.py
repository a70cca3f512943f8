"""A component of ours or of spaCy, as `spacy train` makes it: SYSTEM CORPUS DATA OUTPUT [METRICS].

SYSTEM is ours or spacy, CORPUS one of CORPORA. Writes METRICS/peers/SYSTEM-CORPUS.json: scores of the best model on the
development and the test part, and the user CPU seconds of the training process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import spacy
import srsly

from spacy_ssvm.pipeline.corpus import create_corpus

CONFIGS = Path(__file__).parents[3] / "configs"
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


def train(config: Path, overrides: dict[str, Any], output: Path) -> float:
    """Run `spacy train`; returns its user CPU seconds."""
    arguments = [part for key, value in overrides.items() for part in (f"--{key}", str(value))]
    before = os.times().children_user
    subprocess.run(
        [sys.executable, "-m", "spacy", "train", str(config), "--output", str(output), *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return os.times().children_user - before


def main() -> None:
    system, corpus, data, output, *rest = sys.argv[1:]
    component, files, language, score = CORPORA[corpus]
    target = Path(output) / f"{system}-{corpus}"
    target.mkdir(parents=True, exist_ok=True)
    paths = {part: f"{data}/{files}-{part}.spacy" for part in ("train", "dev", "test")}
    overrides = {"paths.train": paths["train"], "paths.dev": paths["dev"]}
    if system == "spacy":
        config = spacy_config(component, language, target / "config.cfg")
        overrides |= {"corpora.train.gold_preproc": "true", "corpora.dev.gold_preproc": "true"}
    else:
        config = CONFIGS / component / "dcd.cfg"
        overrides |= {"nlp.lang": language}
    seconds = train(config, overrides, target)
    nlp = spacy.load(target / "model-best")
    figures: dict[str, Any] = {"system": system, "seconds": round(seconds, 1)}
    for part in ("dev", "test"):
        scores = nlp.evaluate(list(create_corpus(paths[part], gold_preproc=True)(nlp)))
        figures[part] = round(100 * scores[score], 2)
    print(json.dumps({"corpus": corpus, **figures}))
    metrics = Path(rest[0] if rest else "metrics") / "peers"
    metrics.mkdir(parents=True, exist_ok=True)
    srsly.write_json(metrics / f"{system}-{corpus}.json", figures)


if __name__ == "__main__":
    main()
