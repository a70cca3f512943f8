"""Our scores beside UDPipe 1.2's: METRICS UDPIPE PART PAGE, where PART is dev or test."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import srsly

METRICS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "MLAS", "BLEX")

Scores = Mapping[str, float]


def differences(ours: Scores, theirs: Scores) -> dict[str, float]:
    """Ours minus theirs, in percentage points, of each metric that both have."""
    return {name: ours[name] - theirs[name] for name in METRICS if name in ours and name in theirs}


def n_ahead(all_differences: Sequence[Scores]) -> tuple[int, int]:
    """The number of cells in which we are ahead, and of all cells."""
    values = [value for row in all_differences for value in row.values()]
    return sum(value > 0 for value in values), len(values)


def averages(all_differences: Sequence[Scores]) -> dict[str, float]:
    """The mean difference of each metric, over the treebanks that have it."""
    found = {name: [row[name] for row in all_differences if name in row] for name in METRICS}
    return {name: sum(values) / len(values) for name, values in found.items() if values}


def page(records: Sequence[Mapping[str, Any]], udpipe: Sequence[Mapping[str, Any]], part: str) -> str:
    """The page in Markdown. records: rows of metrics; udpipe: rows of udpipe.jsonl."""
    published = {row["prefix"]: row["scores"] for row in udpipe}
    lines = [
        f"# Scores on the {part} sets",
        "",
        "Gold words, F1 in percent. UDPipe 1.2's figures are those of its test sets.",
    ]
    if part != "test":
        lines.append(f"Ours are of the {part} sets: the differences show large deficits only, and are no comparison.")
    lines += ["", "| treebank | |" + "".join(f" {name} |" for name in METRICS), "|---|---|" + "---:|" * len(METRICS)]
    found: list[Scores] = []
    for record in records:
        prefix, ours = record["prefix"], record[part]["gold"]
        lines.append(_row(prefix, "ours", ours))
        if prefix in published:
            found.append(differences(ours, published[prefix]))
            lines += [_row("", "UDPipe 1.2", published[prefix]), _row("", "difference", found[-1], "+")]
    if found:
        ahead, cells = n_ahead(found)
        lines += [_row("average", "difference", averages(found), "+"), "", f"Ahead in {ahead} of {cells} cells."]
    lines += ["", "| treebank | CPU seconds of training | model, MB | tokens per CPU second |", "|---|---:|---:|---:|"]
    lines += [
        f"| {row['prefix']} | {row['cpu_seconds']:.0f} | {row['megabytes']:.1f} | {row[part]['tokens_per_second']:,} |"
        for row in records
    ]
    lines += _structures(records)
    return "\n".join(lines) + "\n"


def _structures(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table of the treebanks for which several structures were trained."""
    lines = [
        f"| {row['prefix']} | {structure}{', chosen' * (structure == row['structure'])} "
        f"| {found['dev']['gold']['LAS']:.2f} | {found['cpu_seconds']:.0f} | {found['dev']['tokens_per_second']:,} |"
        for row in records
        if len(row["structures"]) > 1
        for structure, found in row["structures"].items()
    ]
    if not lines:
        return []
    return [
        "",
        "## Structure of the parser",
        "",
        "LAS on gold words of the development sets chooses the pipeline.",
        "",
        "| treebank | structure | LAS | CPU seconds of training | tokens per CPU second |",
        "|---|---|---:|---:|---:|",
        *lines,
    ]


def _row(treebank: str, title: str, scores: Scores, sign: str = "") -> str:
    cells = (f"{scores[name]:{sign}.1f}" if name in scores else "–" for name in METRICS)
    return f"| {treebank} | {title} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    folder, udpipe, part, output = sys.argv[1:]
    records = [record for file in sorted(Path(folder).glob("*.jsonl")) for record in srsly.read_jsonl(file)]
    Path(output).write_text(page([row for row in records if part in row], list(srsly.read_jsonl(udpipe)), part), "utf8")
