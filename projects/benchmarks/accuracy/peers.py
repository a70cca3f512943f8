"""Components of ours or of spaCy, as `spacy train` makes them: SYSTEM DATA OUTPUT [CORPUS …] [--metrics METRICS].

Writes for each corpus a row of METRICS/peers-SYSTEM.jsonl: scores of the best model on the development and the test
part, the CPU seconds of the training process, those until its best score, and its peak memory.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import spacy
from shared import metrics
from shared.training import CONFIGS, spacy_config, train

from spacy_ssvm.corpus.reader import create_corpus

CORPORA: dict[str, tuple[str, str, str, str]] = {
    "ewt": ("tagger", "ewt", "en", "tag_acc"),
    "ner-dutch": ("ner", "conll2002-ned", "nl", "ents_f"),
    "ner-spanish": ("ner", "conll2002-esp", "es", "ents_f"),
    "parser": ("parser", "ewt", "en", "dep_las"),
}
"""Component, files, language and score."""


def measured(system: str, corpus: str, data: Path, output: Path) -> dict[str, Any]:
    """The row of a corpus."""
    component, files, language, score = CORPORA[corpus]
    target = output / f"{system}-{corpus}"
    target.mkdir(parents=True, exist_ok=True)
    paths = {part: f"{data}/{files}-{part}.spacy" for part in ("train", "dev", "test")}
    overrides: dict[str, Any] = {"paths.train": paths["train"], "paths.dev": paths["dev"]}
    if system == "spacy":
        config = spacy_config(component, language, target / "config.cfg")
        overrides |= {"corpora.train.gold_preproc": True, "corpora.dev.gold_preproc": True}
    else:
        config = CONFIGS / component / "dcd.cfg"
        overrides |= {"nlp.lang": language}
    figures: dict[str, Any] = {"system": system, **train(config, overrides, target)}
    nlp = spacy.load(target / "model-best")
    for part in ("dev", "test"):
        scores = nlp.evaluate(list(create_corpus(paths[part], gold_preproc=True)(nlp)))
        figures[part] = round(100 * scores[score], 2)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=["ours", "spacy"])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", choices=[*CORPORA, []], help=", ".join(CORPORA))
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    given = parser.parse_args()
    for corpus in given.corpora or CORPORA:
        figures = measured(given.system, corpus, given.data, given.output)
        print(json.dumps({"corpus": corpus, **figures}), flush=True)
        metrics.write(given.metrics, f"{metrics.PEERS}-{given.system}", corpus, figures)


if __name__ == "__main__":
    main()
