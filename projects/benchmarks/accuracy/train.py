"""`spacy train` with a summary: CONFIG OUTPUT [--test CORPUS] [--section.key value …].

Other arguments are overrides, as `spacy train` takes them. The summary is printed, and written to OUTPUT/result.json:
the solver, the best score and its epoch, all scores of that epoch that the config weighs, the non-zeros of its weights,
the user CPU seconds of the training process and, with --test, the scores on another corpus, which is read as the
development part.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import srsly
from spacy.util import load_config


def train(config: Path, output: Path, arguments: Sequence[str], test: str | None = None) -> dict[str, Any]:
    """Run `spacy train` in a process of its own; returns the summary."""
    log = output / "log.jsonl"
    output.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "spacy", "train", str(config), "--output", str(output)]
    before = os.times().children_user
    logged = ["--training.logger.output_file", str(log)]
    subprocess.run([*command, *logged, *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds = os.times().children_user - before
    used = load_config(output / "model-best" / "config.cfg")
    component = used["nlp"]["pipeline"][-1]
    rows = list(srsly.read_jsonl(log))
    best = max(rows, key=lambda row: row["score"])
    result = {
        "output": str(output),
        "solver": used["components"][component]["solver"],
        "dev": round(100 * best["score"], 2),
        "best_epoch": best["epoch"] + 1,
        "epochs": len(rows),
        "user_seconds": round(seconds, 1),
        "non_zeros": best["figures"][component]["non_zeros"],
    }
    weights = used["training"]["score_weights"]
    names = [name for name, weight in weights.items() if weight is not None and name in best["other_scores"]]
    result |= {f"dev_{name}": round(100 * best["other_scores"][name], 2) for name in names}
    if test is not None:
        result |= evaluate(output / "model-best", test, names)
    print(json.dumps(result), flush=True)
    srsly.write_json(output / "result.json", result)
    return result


def evaluate(model: Path, corpus: str, names: Sequence[str], columns: Sequence[str] = ()) -> dict[str, float]:
    """The named scores on a corpus, in per cent; columns are given from it in place of those of the config."""
    scores = model.parent / "test.json"
    command = [sys.executable, "-m", "spacy", "ssvm", "evaluate", str(model), corpus, "--output", str(scores)]
    given = [part for name in columns for part in ("--column", name)]
    subprocess.run([*command, *given], check=True, stdout=subprocess.DEVNULL)
    found = srsly.read_json(scores)
    return {f"test_{name}": round(100 * found[name], 2) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--test")
    given, overrides = parser.parse_known_args()
    train(given.config, given.output, overrides, given.test)


if __name__ == "__main__":
    main()
