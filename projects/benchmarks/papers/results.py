"""The records of runs, as the papers' tables and figures ask for them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import srsly

from .runs import Run

Row = dict[str, Any]


class Record:
    """What one run has left: its rows, one an epoch, and those of them that were evaluated."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record
        self.settings: dict[str, Any] = record["settings"]
        self.weights: int = record["weights"]
        self.examples: int = record["examples"]
        self.rows: list[Row] = record["rows"]
        self.scored = [row for row in self.rows if "test" in row]

    @property
    def last(self) -> Row:
        """The last row, which is always evaluated."""
        return self.rows[-1]

    def best(self, part: str = "dev") -> Row:
        """The evaluated row with the best score on a part, the first of equals."""
        return max(self.scored, key=lambda row: (row[part], -row["epoch"]))

    def until(self, epoch: int) -> "Record":
        """The same run, as it was after an epoch."""
        return Record({**self._record, "rows": self.rows[:epoch]})

    def epoch_seconds(self) -> float:
        """CPU seconds of an epoch, on average."""
        return float(self.last["seconds"] / self.last["epoch"])

    def reaching(self, column: str, value: float, falling: bool = False) -> Row | None:
        """The first row whose figure in a column is at least a value, or if falling at most."""
        rows = (row for row in self.rows if row.get(column) is not None)
        return next((row for row in rows if (row[column] <= value if falling else row[column] >= value)), None)

    def seconds_to(self, column: str, value: float, falling: bool = False) -> str:
        """CPU seconds until that row, or those in which it was not reached."""
        row = self.reaching(column, value, falling)
        return f"{row['seconds']:.1f}" if row else f"> {self.last['seconds']:.1f}"


class Results:
    """Records by their runs; None for a run that has none, which is noted."""

    def __init__(self, metrics: Path) -> None:
        self.metrics = metrics
        self.missing: set[str] = set()
        self._records: dict[str, Record | None] = {}

    def __getitem__(self, run: Run) -> Record | None:
        if run.name not in self._records:
            path = self.metrics / f"{run.name}.json"
            self._records[run.name] = Record(srsly.read_json(path)) if path.exists() else None
        if self._records[run.name] is None:
            self.missing.add(run.name)
        return self._records[run.name]

    def all(self, runs: Iterable[Run]) -> list[Record]:
        """The records of those runs that have one."""
        return [found for run in runs if (found := self[run]) is not None]

    def chosen(self, runs: Iterable[Run], part: str = "dev") -> Record | None:
        """Of several runs, the one whose last weights score best on a part."""
        found = self.all(runs)
        return max(found, key=lambda record: record.last[part]) if found else None

    def peer(self, name: str) -> Any:
        """The figures of another package, a JSON file of that name, or None."""
        path = self.metrics / "peers" / f"{name}.json"
        if not path.exists():
            self.missing.add(f"peers/{name}")
            return None
        return srsly.read_json(path)
