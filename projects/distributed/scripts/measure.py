"""Measure rules on a task: TASK RULE,K … [--gap 1e-3] [--epochs 100] [--seconds 480].

A run ends at the relative duality gap, or after so many epochs or CPU seconds. Each becomes a line of
METRICS/TASK.jsonl: for the measured epochs the primal and the dual objective at one frozen w, the score on the
development part in per cent, and the bytes that all workers together have sent (`up`) and got (`down`) so far.
Certificates and scores are measured in addition: what they send is not counted.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from .blocks import Blocks
from .records import write
from .rules import RULES
from .tasks import TASKS

EVERY = 5
"""Up to this epoch, each is measured; later one in five."""


def is_measured(epoch: int) -> bool:
    return epoch <= EVERY or epoch % 5 == 0


def run(
    name: str, rule_name: str, n_blocks: int, data: Path, gap: float, epochs: int, seconds: float
) -> dict[str, Any]:
    """The record of a run."""
    task, rule, begin = TASKS[name], RULES[rule_name], time.process_time()
    C = task.config("dcd", data)["components"][task.component]["solver"]["C"]
    config = task.config(rule.solver, data)
    solver = config["components"][task.component]["solver"]
    if rule.solver == "dcd":
        solver["C"] = rule.block_C(C, n_blocks)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        blocks = Blocks(task, config, n_blocks, Path(folder))
        learning = rule.begin(blocks, C)
        for epoch in range(1, epochs + 1):
            learning.epoch()
            is_last = epoch == epochs or time.process_time() - begin > seconds
            if not is_measured(epoch) and not is_last:
                continue
            w, dual = learning.point()
            primal = float(w @ w) / 2 + C * blocks.squares(w)
            row = {"epoch": epoch, "primal": primal, "dual": dual, "score": blocks.score(w)}
            rows.append(row | {"up": blocks.up, "down": blocks.down})
            if is_last or (dual is not None and primal - dual <= gap * primal):
                break
    used = round(time.process_time() - begin, 1)
    return {"examples": blocks.n_examples, "weights": blocks.dimension, "C": C, "seconds": used, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("runs", nargs="+", metavar="RULE,K", help=", ".join(RULES))
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--metrics", type=Path, default=Path("metrics"))
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=480.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for text in given.runs:
        rule, n_blocks = text.split(",")
        record = run(given.task, rule, int(n_blocks), given.data, given.gap, given.epochs, given.seconds)
        write(given.metrics, given.task, text, record)
        print(text, json.dumps(record["rows"][-1]), record["seconds"], flush=True)


if __name__ == "__main__":
    main()
