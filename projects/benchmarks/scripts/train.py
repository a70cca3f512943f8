"""`spacy train` with another solver: CONFIG SOLVER_JSON OUTPUT [--section.key value …].

SOLVER_JSON is the whole solver block, such as {"@ssvm_solvers": "spacy-ssvm.SAP.v1", "rho1": 0.4}; the remaining
arguments are handed to `spacy train`. Prints the best row and the user CPU seconds of the training process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import srsly
from spacy.util import load_config


def main() -> None:
    source, solver, output, *overrides = sys.argv[1:]
    config = load_config(source)
    name = config["nlp"]["pipeline"][-1]
    block = json.loads(solver)
    if block:
        config["components"][name]["solver"] = block
    log = Path(output) / "log.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    config["training"]["logger"]["output_file"] = str(log)
    config.to_disk(Path(output) / "config.cfg")
    command = [sys.executable, "-m", "spacy", "train", str(Path(output) / "config.cfg"), "--output", output, *overrides]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = os.times().children_user
    rows = list(srsly.read_jsonl(log))
    best = max(rows, key=lambda row: (row["score"], -row["epoch"]))
    result = {
        "output": output,
        "solver": block or config["components"][name]["solver"],
        "dev": round(100 * best["score"], 2),
        "best_epoch": best["epoch"] + 1,
        "epochs": len(rows),
        "user_seconds": round(seconds, 1),
        "non_zeros": best["figures"][name]["non_zeros"],
    }
    print(json.dumps(result), flush=True)
    srsly.write_json(Path(output) / "result.json", result)


if __name__ == "__main__":
    main()
