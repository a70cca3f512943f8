"""The tables of metrics: METRICS/TASK.jsonl, a line for each run, in the order of the runs' names.

One process at a time may write to a table.
"""

import json
from pathlib import Path
from typing import Any

from spacy_ssvm.files import replace_files

PEERS = "peers"
"""PEERS-SYSTEM is the table of a package that is trained as users train it: peers-ours, peers-spacy, peers-crfsuite."""
Table = dict[str, dict[str, Any]]
"""The values of each run by its name."""


def read(folder: Path, task: str) -> Table:
    """The table of a task, empty if there is no file."""
    path = folder / f"{task}.jsonl"
    if not path.exists():
        return {}
    # srsly's reader is off by a last digit: it takes 0.3 for 0.30000000000000004.
    rows = map(json.loads, path.read_text("utf8").splitlines())
    return {row.pop("run"): row for row in rows}


def write(folder: Path, task: str, run: str, values: dict[str, Any]) -> None:
    """Add a run to the table of a task, or replace it.

    Raises:
        ValueError: a value is infinite or not a number, which JSON cannot say.
    """
    table = read(folder, task) | {run: values}
    lines = [json.dumps({"run": name, **table[name]}, allow_nan=False) + "\n" for name in sorted(table)]
    folder.mkdir(parents=True, exist_ok=True)
    replace_files(folder, {f"{task}.jsonl": "".join(lines).encode()})
