"""`spacy train` with a summary: CONFIG OUTPUT [--section.key value …].

The arguments after OUTPUT are overrides, as `spacy train` takes them. The summary is printed, and written to
OUTPUT/result.json: the solver, the best score and its epoch, the non-zeros of its weights, and the user CPU seconds of
the training process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import srsly
from spacy.util import load_config

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


def train(config: Path, output: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Run `spacy train` in a process of its own; returns the summary."""
    log = output / "log.jsonl"
    output.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "spacy", "train", str(config), "--output", str(output)]
    before = os.times().children_user
    logged = ["--training.logger.output_file", str(log)]
    subprocess.run([*command, *logged, *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds = os.times().children_user - before
    component = load_config(config)["nlp"]["pipeline"][-1]
    rows = list(srsly.read_jsonl(log))
    best = max(rows, key=lambda row: row["score"])
    result = {
        "output": str(output),
        "solver": load_config(output / "model-best" / "config.cfg")["components"][component]["solver"],
        "dev": round(100 * best["score"], 2),
        "best_epoch": best["epoch"] + 1,
        "epochs": len(rows),
        "user_seconds": round(seconds, 1),
        "non_zeros": best["figures"][component]["non_zeros"],
    }
    print(json.dumps(result), flush=True)
    srsly.write_json(output / "result.json", result)
    return result


if __name__ == "__main__":
    train(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
