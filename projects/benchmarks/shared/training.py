"""`spacy train` in a process of its own, on our configs and on those that spaCy recommends."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import srsly

CONFIGS = Path(__file__).parents[3] / "configs"


def parser_alone(*columns: str) -> dict[str, Any]:
    """Overrides of `configs/parser` without its taggers; these columns are given, such as "tag"."""
    return {
        "nlp.pipeline": ["parser"],
        "corpora.train.jackknife": [],
        "corpora.train.columns": list(columns),
        "corpora.dev.columns": list(columns),
    }


def options(overrides: Mapping[str, Any]) -> list[str]:
    """Overrides as arguments of `spacy train`."""
    values = (value if isinstance(value, str) else json.dumps(value) for value in overrides.values())
    return [part for key, value in zip(overrides, values) for part in (f"--{key}", value)]


def spacy_config(component: str, language: str, target: Path) -> Path:
    """What spaCy recommends for a CPU. Its parser comes with a tagger, as ours does."""
    pipeline = "tagger,parser" if component == "parser" else component
    options = ["--lang", language, "--pipeline", pipeline, "--optimize", "efficiency", "--force"]
    subprocess.run([sys.executable, "-m", "spacy", "init", "config", str(target), *options], check=True)
    return target


def train(config: Path, overrides: dict[str, Any], output: Path) -> dict[str, float]:
    """Run `spacy train`; returns the CPU seconds of its process, those until its best score, and its peak in MB."""
    command = [sys.executable, "-m", "shared.clocked_train", str(config), str(output), *options(overrides)]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    seconds = after.children_user - before.children_user + after.children_system - before.children_system
    best = max(srsly.read_jsonl(output / "clock.jsonl"), key=lambda row: row["score"])
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"seconds": round(seconds, 1), "seconds_to_best": best["seconds"], "megabytes": round(megabytes)}
