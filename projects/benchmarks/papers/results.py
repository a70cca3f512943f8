"""The records of runs, as the tables and figures of the papers ask for them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shared import metrics
from shared.page import Curve

from .runs import Run

Row = dict[str, Any]
NEAR = 0.999
"""A run has arrived when it reaches this share of the best score."""


class Record:
    """The record of one run. rows: one per epoch; scored: those that were evaluated."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.settings: dict[str, Any] = record["settings"]
        self.weights: int = record["weights"]
        self.examples: int = record["examples"]
        self.done: bool = record["done"]
        self.rows: list[Row] = record["rows"]
        self.scored = [row for row in self.rows if "test" in row]

    @property
    def last(self) -> Row:
        """The last row, which is always evaluated."""
        return self.rows[-1]

    def best(self, part: str = "dev") -> Row:
        """The evaluated row with the best score on a part, the first of equals."""
        return max(self.scored, key=lambda row: row[part])

    def epoch_seconds(self) -> float:
        """CPU seconds of an epoch, on average."""
        return float(self.last["seconds"] / self.last["epoch"])

    def reaching(self, column: str, value: float, falling: bool = False) -> Row | None:
        """The first row whose figure in a column is at least a value, or if falling at most."""
        rows = (row for row in self.rows if row.get(column) is not None)
        return next((row for row in rows if (row[column] <= value if falling else row[column] >= value)), None)

    def seconds_to(self, column: str, value: float, falling: bool = False) -> str:
        """CPU seconds until that row, as text; "> s" if it was not reached in the s seconds of the run."""
        row = self.reaching(column, value, falling)
        return f"{row['seconds']:.1f}" if row else f"> {self.last['seconds']:.1f}"


def sooner(
    mine: Record, rival: Record, column: str, value: float, falling: bool = False, allowance: float = 1.0
) -> bool | None:
    """Whether mine reaches a value in at most the CPU time of a rival times an allowance.

    None if that is open: neither reaches it, or the rival's run ended too soon to tell.
    """
    own, other = mine.reaching(column, value, falling), rival.reaching(column, value, falling)
    if own is None:
        return None if other is None else False
    if other is not None:
        return bool(own["seconds"] <= allowance * other["seconds"])
    return True if own["seconds"] <= allowance * rival.last["seconds"] else None


def ahead(mine: Record, rival: Record, column: str, falling: bool = False) -> tuple[int, int]:
    """The number of the rival's rows at whose time mine is at least as good, and the number of the rival's rows.

    Before its first row, mine is not as good.
    """
    rows = [row for row in rival.rows if row.get(column) is not None]
    wins = 0
    for row in rows:
        until = [own for own in mine.rows if own["seconds"] <= row["seconds"] and own.get(column) is not None]
        if until:
            wins += until[-1][column] <= row[column] if falling else until[-1][column] >= row[column]
    return wins, len(rows)


def verdict(comparisons: Sequence[bool | None], expected: int) -> bool | None:
    """Whether all comparisons hold: False once one does not, None if one is open or fewer were made than expected."""
    if False in comparisons:
        return False
    return True if len(comparisons) == expected and None not in comparisons else None


def curves(records: Mapping[str, Record | None], x: str, y: str) -> list[Curve]:
    """A curve for each record that is there and has figures in column y."""
    result = []
    for name, record in records.items():
        rows = [] if record is None else [row for row in record.rows if row.get(y) is not None]
        if rows:
            result.append(Curve(name, [row[x] for row in rows], [row[y] for row in rows]))
    return result


class Results:
    """The records of runs, read from the tables of a folder.

    A run without a record has None, and so does a run whose record has measured less than the run wants.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, metrics.Table] = {}

    def _row(self, task: str, run: str) -> dict[str, Any] | None:
        if task not in self._tables:
            self._tables[task] = metrics.read(self.folder, task)
        return self._tables[task].get(run)

    def __getitem__(self, run: Run) -> Record | None:
        record = self._row(run.task, run.row)
        return None if record is None or not run.is_shown_by(record) else Record(record)

    def all(self, runs: Iterable[Run]) -> list[Record]:
        """The records of the runs that have one."""
        return [record for run in runs if (record := self[run]) is not None]

    def chosen(self, runs: Iterable[Run], best_epoch: bool = False) -> Record | None:
        """The run whose last weights, or those of its best epoch, score best on "dev".

        None unless all runs have a record: a choice among some of them would be another choice.
        """
        wanted = list(runs)
        records = self.all(wanted)
        if len(records) < len(wanted):
            return None
        return max(records, key=lambda record: (record.best() if best_epoch else record.last)["dev"])
