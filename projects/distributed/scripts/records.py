"""The records of runs: METRICS/TASK.jsonl, a line for each run. One process at a time may write to a table."""

import json
from pathlib import Path
from typing import Any

from spacy_ssvm.files import replace_files

Row = dict[str, Any]
"""The figures after an epoch."""
Table = dict[str, dict[str, Any]]
"""The records of a task by the names of the runs, RULE,K."""
WORKERS = (1, 2, 4, 8)
"""The K that are shown."""


def read(folder: Path, task: str) -> Table:
    """The records of a task; empty if there is no file."""
    path = folder / f"{task}.jsonl"
    rows = map(json.loads, path.read_text("utf8").splitlines()) if path.exists() else ()
    return {row.pop("run"): row for row in rows}


def write(folder: Path, task: str, run: str, record: dict[str, Any]) -> None:
    """Add a record, or replace it."""
    table = read(folder, task) | {run: record}
    lines = [json.dumps({"run": name, **table[name]}, allow_nan=False) + "\n" for name in sorted(table)]
    folder.mkdir(parents=True, exist_ok=True)
    replace_files(folder, {f"{task}.jsonl": "".join(lines).encode()})


def bound(table: Table) -> float:
    """The largest dual objective of all runs of a task: no primal is smaller."""
    return max(float(row["dual"]) for record in table.values() for row in record["rows"] if row["dual"] is not None)


def excess(row: Row, least: float) -> float:
    """How far the primal is above this bound, in parts of it: at least what it is above the optimum."""
    return float(row["primal"] / least - 1.0)


def gap(row: Row) -> float:
    """The relative duality gap of a rule with dual variables."""
    return float(1.0 - row["dual"] / row["primal"])


def megabytes(row: Row) -> float:
    """What all workers have sent and got until then, in 10⁶ bytes."""
    return float((row["up"] + row["down"]) / 1e6)
