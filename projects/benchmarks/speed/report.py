"""Write the report of the parts that have been measured: METRICS FOLDER."""

import argparse
from pathlib import Path
from typing import Any

from shared import metrics
from shared.page import Page

from .bars import HEADER, Bar
from .parts import PARTS, TABLE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metrics", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    table = metrics.read(given.metrics, TABLE)
    records = {part: table[part] for part in PARTS if part in table}
    details = Page(given.folder, "speed")
    bars = [bar for part, record in records.items() for bar in PARTS[part].report(record["figures"], details)]
    page = Page(given.folder, "speed")
    page.heading("Speed, size and memory", 1)
    page.text(
        "Every value is of one run on one machine, contenders taking turns: the median over rounds of the ratio within "
        "each. CPU time of the process, one thread, warm, unless a row says otherwise. Other work on the machine makes "
        "figures worthless: its load when each part began is below."
    )
    summary(bars, page)
    machines(records, page)
    if missing := [part for part in PARTS if part not in records]:
        page.text(f"Not measured yet: {', '.join(missing)}.")
    page.heading("Figures")
    page.blocks += details.blocks
    page.write()


def summary(bars: list[Bar], page: Page) -> None:
    met = [bar.met for bar in bars if bar.met is not None]
    page.table(HEADER, [bar.row() for bar in bars], texts=3)
    page.text(f"{sum(met)} of {len(met)} bars that were measured are met.")


def machines(records: dict[str, Any], page: Page) -> None:
    """What the parts were measured on, and those that were measured on something else than the first."""
    page.heading("Machine")
    keys = list(dict.fromkeys(key for record in records.values() for key in record["machine"] if key != "load"))
    rows = []
    for key in keys:
        values = dict.fromkeys(record["machine"].get(key) for record in records.values())
        rows.append([key, " / ".join(map(str, values))])
    page.table(["", ""], rows, texts=2)
    rows = [[part, record["machine"]["load"], f"{record['wall']:.0f}"] for part, record in records.items()]
    page.table(["part", "load", "s"], rows)


if __name__ == "__main__":
    main()
