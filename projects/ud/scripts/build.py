"""Train and score the pipeline of each treebank: TRAINING METRICS ASSETS PART TREEBANK … [--section.key value …].

PART is dev, which also trains where there is no pipeline, or test, which only scores. A score that is
in METRICS stays. Overrides of the config come last.
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import srsly

from .locate import locate, part

GOLD = {"gold": "--gold-preproc", "raw": "--no-gold-preproc"}
"""What the pipeline gets → the option of `spacy ssvm evaluate`."""


def cpu_seconds() -> float:
    """Of all commands that are done, and of their children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def spacy(*command: str) -> None:
    subprocess.run([sys.executable, "-m", "spacy", *command], check=True)


def train(prefix: Path, folder: Path, overrides: list[str]) -> dict[str, Any]:
    """Write the config, train, and return the CPU seconds and the size of the pipeline in megabytes."""
    config, unfinished = folder / "config.cfg", folder / "unfinished"
    spacy("ssvm", "init-config", str(config), "--treebank", str(part(prefix, "train")), "--force")
    before = cpu_seconds()
    spacy("train", str(config), "--output", str(unfinished), *overrides)
    seconds = cpu_seconds() - before
    best = (unfinished / "model-best").rename(folder / "model")
    size = sum(file.stat().st_size for file in best.rglob("*") if file.is_file())
    return {"cpu_seconds": round(seconds, 1), "megabytes": round(size / 1e6, 2)}


def evaluate(model: Path, corpus: Path, scores: Path) -> dict[str, dict[str, float]]:
    """F1 in percent, for gold words and for raw text."""
    found = {}
    for name, option in GOLD.items():
        spacy("ssvm", "evaluate", str(model), str(corpus), "--conll18", option, "--output", str(scores))
        found[name] = {metric: round(100 * score["f"], 2) for metric, score in srsly.read_json(scores).items()}
    return found


def build(source: str, name: str, training: Path, metrics: Path, assets: Path, overrides: list[str]) -> None:
    """Bring the row of a treebank up to date."""
    prefix = locate(source, assets)
    folder = training / prefix.name
    folder.mkdir(parents=True, exist_ok=True)
    record, row = folder / "training.json", metrics / f"{prefix.name.removesuffix('-ud')}.jsonl"
    if not record.exists():
        if name == "test":
            raise ValueError(f"{source} has no pipeline: run the workflow `all` first")
        srsly.write_json(record, train(prefix, folder, overrides))
    found = next(iter(srsly.read_jsonl(row))) if row.exists() else {"prefix": row.stem, **srsly.read_json(record)}
    if name not in found:
        found[name] = evaluate(folder / "model", part(prefix, name), folder / "scores.json")
        metrics.mkdir(parents=True, exist_ok=True)
        srsly.write_jsonl(row, [found])


if __name__ == "__main__":
    arguments = sys.argv[1:]
    n_named = next((place for place, text in enumerate(arguments) if text.startswith("--")), len(arguments))
    training, metrics, assets, name, *sources = arguments[:n_named]
    for source in sources:
        build(source, name, Path(training), Path(metrics), Path(assets), arguments[n_named:])
