"""Curves of records, as the papers' figures draw them."""

from collections.abc import Mapping

from shared.page import Curve

from .results import Record


def curves(records: Mapping[str, Record | None], x: str, y: str) -> list[Curve]:
    """A curve for each record that is there and has figures in column y."""
    result = []
    for name, record in records.items():
        rows = [] if record is None else [row for row in record.rows if row.get(y) is not None]
        if rows:
            result.append(Curve(name, [row[x] for row in rows], [row[y] for row in rows]))
    return result
